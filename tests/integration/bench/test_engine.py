"""The measurement itself: both workers come to an end, and every run of the engine's succeeds."""

from pathlib import Path

import pytest

from controlplane.bench.engine import measure

pytestmark = pytest.mark.slow


def test_both_workers_are_measured_on_one_broker(tmp_path: Path) -> None:
    found = measure(tmp_path, runs=3, noops=20)
    assert found.steps > 0
    assert found.noops > 0
    assert found.steps_per_message == pytest.approx(5, abs=2.5)
