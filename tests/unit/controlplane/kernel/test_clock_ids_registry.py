"""Clock, ids and registry: small promises that everything leans on."""

from datetime import UTC, datetime

import pytest

from controlplane.kernel.clock import VirtualClock, from_unix, to_rfc3339
from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.ids import new_id
from controlplane.kernel.registry import Registry


def test_a_virtual_clock_moves_only_when_told_and_never_back() -> None:
    clock = VirtualClock(datetime(2026, 1, 1, tzinfo=UTC))
    clock.sleep(1.5)
    assert clock.now() == datetime(2026, 1, 1, 0, 0, 1, 500000, tzinfo=UTC)
    assert clock.monotonic() == 1.5
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)


def test_times_are_written_as_rfc_3339_in_utc() -> None:
    assert to_rfc3339(from_unix(0)) == "1970-01-01T00:00:00.000Z"


def test_ids_made_later_sort_later_and_differ() -> None:
    clock = VirtualClock()
    ids = []
    for _ in range(100):
        ids.append(new_id("run", clock))
        clock.advance(0.001)
    assert ids == sorted(ids)
    assert len({new_id("run", clock) for _ in range(100)}) == 100


def test_an_unknown_name_is_answered_with_the_nearest_one() -> None:
    registry: Registry[int] = Registry("action")
    registry.add("traffic.shift", 1)
    registry.add("replica.restart", 2)
    with pytest.raises(InvalidInput) as caught:
        registry.get("trafic.shift")
    assert str(caught.value) == "unknown action `trafic.shift` (did you mean `traffic.shift`?)"
    with pytest.raises(ValueError, match="twice"):
        registry.add("traffic.shift", 3)
