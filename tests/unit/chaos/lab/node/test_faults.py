"""A fault hits whom it names, ends by itself, and a hang dies with its incarnation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.lab.node.faults import FaultBook, FaultKind, FaultSpec
from controlplane.kernel.errors import InvalidInput

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FIRST = {"r0": "r0-1", "r1": "r1-1"}
SECOND = {"r0": "r0-2", "r1": "r1-1"}


def slow(factor: float = 3.0, *, seconds: float = 60, replicas: tuple[str, ...] | None = None) -> FaultSpec:
    end = NOW + timedelta(seconds=seconds)
    return FaultSpec(kind=FaultKind.SLOW, factor=factor, replicas=replicas, expires_at=end)


def hang(*replicas: str, seconds: float = 60) -> FaultSpec:
    end = NOW + timedelta(seconds=seconds)
    return FaultSpec(kind=FaultKind.HANG, replicas=replicas or None, expires_at=end)


def test_a_fault_without_replicas_hits_all_and_a_named_one_only_its_own() -> None:
    book = FaultBook()
    book.put("f", slow(replicas=("r1",)), FIRST, NOW)
    assert (book.slow_factor("r0", "r0-1"), book.slow_factor("r1", "r1-1")) == (1.0, 3.0)
    book.put("g", hang(), FIRST, NOW)
    assert (book.hung("r0", "r0-1"), book.hung("r1", "r1-1")) == (True, True)


def test_slow_factors_multiply() -> None:
    book = FaultBook()
    book.put("f", slow(3.0), FIRST, NOW)
    book.put("g", slow(2.0), FIRST, NOW)
    assert book.slow_factor("r0", "r0-1") == 6.0


def test_putting_and_deleting_again_changes_nothing() -> None:
    book = FaultBook()
    book.put("f", slow(), FIRST, NOW)
    once = book.describe(FIRST)
    book.put("f", slow(), FIRST, NOW)
    assert book.describe(FIRST) == once
    book.delete("f")
    book.delete("f")
    assert book.describe(FIRST) == []


def test_a_fault_is_described_with_its_end() -> None:
    book = FaultBook()
    book.put("f", slow(replicas=("r1",)), FIRST, NOW)
    assert book.describe(FIRST) == [
        {
            "id": "f",
            "kind": "slow",
            "target": ["r1"],
            "parameters": {"factor": 3.0},
            "expiresAt": "2026-01-01T00:01:00.000Z",
        }
    ]


def test_slowness_survives_a_restart_and_a_hang_does_not() -> None:
    book = FaultBook()
    book.put("f", slow(), FIRST, NOW)
    book.put("g", hang(), FIRST, NOW)
    assert (book.slow_factor("r0", "r0-2"), book.hung("r0", "r0-2")) == (3.0, False)
    assert [fault["target"] for fault in book.describe(SECOND)] == [["r0", "r1"], ["r1"]]


def test_a_hang_put_again_does_not_reach_the_next_incarnation() -> None:
    book = FaultBook()
    book.put("g", hang("r0"), FIRST, NOW)
    book.put("g", hang("r0", seconds=90), SECOND, NOW)
    assert book.hung("r0", "r0-2") is False
    assert book.describe(SECOND) == []


def test_a_hang_with_another_id_does() -> None:
    book = FaultBook()
    book.put("g", hang("r0"), FIRST, NOW)
    book.put("h", hang("r0"), SECOND, NOW)
    assert book.hung("r0", "r0-2") is True


@given(st.lists(st.floats(0.001, 1000), min_size=1, max_size=8), st.floats(0, 1100))
def test_faults_end_at_their_time_and_not_before(lifetimes: list[float], passed: float) -> None:
    book = FaultBook()
    for index, seconds in enumerate(lifetimes):
        book.put(f"f{index}", slow(seconds=seconds), FIRST, NOW)
    now = NOW + timedelta(seconds=passed)
    ends = {f"f{index}": NOW + timedelta(seconds=seconds) for index, seconds in enumerate(lifetimes)}
    assert set(book.expire(now)) == {name for name, end in ends.items() if end <= now}
    assert book.next_expiry() == min((end for end in ends.values() if end > now), default=None)


def test_a_new_expiry_replaces_the_old_one() -> None:
    book = FaultBook()
    book.put("f", slow(seconds=10), FIRST, NOW)
    book.put("f", slow(seconds=90), FIRST, NOW)
    assert book.expire(NOW + timedelta(seconds=20)) == []


def test_an_unknown_replica_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match=r"no replica r7 .*it has r0, r1"):
        FaultBook().put("f", slow(replicas=("r0", "r7")), FIRST, NOW)


def test_a_fault_that_is_already_over_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"would have ended at 2026-01-01T00:00:00\.000Z"):
        FaultBook().put("f", slow(seconds=0), FIRST, NOW)


@pytest.mark.parametrize(
    "changes",
    [{"expiresAt": None}, {"expiresAt": "2026-01-01T00:00:00"}, {"factor": 0.5}, {"factor": None},
     {"kind": "hang"}, {"kind": "melt"}, {"replicas": []}, {"reason": "typo"}],
)  # fmt: skip
def test_a_fault_needs_an_end_a_kind_and_a_fitting_factor(changes: dict[str, Any]) -> None:
    valid = {"kind": "slow", "factor": 3.0, "expiresAt": "2026-01-01T00:01:00Z"}
    FaultSpec.model_validate(valid)
    with pytest.raises(ValueError, match="validation error"):
        FaultSpec.model_validate(valid | changes)
