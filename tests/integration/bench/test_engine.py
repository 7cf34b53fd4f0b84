"""The measurement itself: both workers come to an end, and every run of the engine's succeeds."""

from pathlib import Path

import pytest

from controlplane.bench.engine import measure

pytestmark = pytest.mark.slow


def test_both_workers_are_measured_in_turns(tmp_path: Path) -> None:
    found = measure(tmp_path, runs=3, noops=20, rounds=2)
    assert [each.share for each in found] == sorted(each.share for each in found)
    for each in found:
        assert each.steps > 0
        assert each.noops > 0
        assert each.steps_per_message == pytest.approx(5, abs=2.5)
