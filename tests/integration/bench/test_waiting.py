"""The measurement itself: three processes come to rest, and every run waits for a named thing."""

from pathlib import Path

import pytest

from controlplane.bench.waiting import measure
from controlplane.kernel.clock import SystemClock
from controlplane.store.database import Database
from controlplane.store.runs import RunQuery

pytestmark = pytest.mark.slow


def test_what_waiting_runs_cost_is_measured_while_each_waits_in_its_way(tmp_path: Path) -> None:
    found = measure(tmp_path, runs=6, seconds=0.5)
    assert found.idle.keys() == found.busy.keys() == {"redis", "worker", "controller"}
    with Database(f"sqlite:///{tmp_path / 'waiting.db'}", SystemClock()).reading() as tx:
        runs = tx.runs.list(RunQuery(active=True))
        asked = tx.approvals.list(waiting=True)
    states = sorted((run.name, run.state.value) for run in runs)
    in_line = [("stands-in-line", "queued"), ("stands-in-line", "running")]
    assert states == [("asks-first", "queued")] * 2 + [("asks-midway", "running")] * 2 + in_line
    assert len(asked) == 5
