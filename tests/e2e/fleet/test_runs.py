"""A ramp of weights while its workers are killed or stopped: it goes on, and each effect happens once.

Effects are counted in the platform's own write log, not in what the engine says of itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from controlplane.model.records import Run
from controlplane.model.states import RunState, is_final
from controlplane.store.runs import LEASE_SECONDS
from tests.support.fleet_up import FleetUp, wait_for
from tests.support.playbook_runs import ramp, start_playbook

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

WEIGHT = 40
STAGES = 11
"""Writes of a ramp of 10 s: one at its start, and one a second."""


def run_of(fleet: FleetUp, run_id: str) -> Run:
    with fleet.database() as database, database.reading() as tx:
        return tx.runs.get(run_id)


def wait_ended(fleet: FleetUp, run_id: str) -> Run:
    wait_for(f"the end of {run_id}", lambda: is_final(run_of(fleet, run_id).state))
    return run_of(fleet, run_id)


def assert_each_effect_once(writes: list[dict[str, Any]], zone: str, stages: int) -> None:
    """The zone went down stage by stage, each from where the last one ended, and nothing else moved."""
    keys = [write["by"]["key"] for write in writes]
    assert len(set(keys)) == len(keys) == stages
    weights = [100, *(write["after"][zone] for write in writes)]
    assert weights == sorted(set(weights), reverse=True)
    assert weights[-1] == WEIGHT
    assert [write["before"][zone] for write in writes] == weights[:-1]
    others = {weight for write in writes for name, weight in write["after"].items() if name != zone}
    assert others == {100}
    fences = [write["by"]["fence"] for write in writes]
    assert fences == sorted(fences)


@pytest.mark.parametrize(("victim", "zone"), [("worker", "zone-a"), ("controller", "zone-b")])
def test_a_ramp_goes_on_after_a_kill(victim: str, zone: str, fleet: FleetUp) -> None:
    with fleet.database() as database:
        run = start_playbook(database, ramp(f"ramp-{victim}", zone, WEIGHT, "10s"), f"chat/local/{zone}")
    wait_for("the first stages", lambda: len(fleet.writes(run.id)) >= 2)
    killed = fleet.kill(victim)
    assert len(fleet.writes(run.id)) < STAGES, "the kill came too late to prove anything"
    fleet.replaced(killed)
    ended = wait_ended(fleet, run.id)
    assert ended.state is RunState.SUCCEEDED, ended.reason
    assert fleet.weights() == {"zone-a": 100, "zone-b": 100, "zone-c": 100, zone: WEIGHT}
    assert_each_effect_once(fleet.writes(run.id), zone, STAGES)
    assert f"{victim} started again" in fleet.said


@contextmanager
def stopping_worker(fleet: FleetUp, folder: Path, zone: str) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A worker of our own that stops itself before its first write; yields it, and what it says."""
    playbook, said = folder / "ramp.yaml", folder / "said.txt"
    playbook.write_text(ramp("ramp-stopped", zone, WEIGHT, "3s"))
    argv = [
        sys.executable, "-m", "tests.support.stopping_worker",
        str(fleet.state_dir), str(playbook), f"chat/local/{zone}",
    ]  # fmt: skip
    with said.open("w") as output, subprocess.Popen(argv, stdout=output, stderr=output, text=True) as worker:
        try:
            yield worker, said
        finally:
            worker.kill()


def test_a_worker_that_slept_through_its_lease_is_refused_at_the_platform(
    fleet: FleetUp, tmp_path: Path
) -> None:
    zone = "zone-c"
    with stopping_worker(fleet, tmp_path, zone) as (worker, said):
        process = psutil.Process(worker.pid)
        wait_for("the worker stopped", lambda: process.status() == psutil.STATUS_STOPPED)
        stopped_at = time.monotonic()
        run_id = said.read_text().splitlines()[0]
        stopped_with = run_of(fleet, run_id)
        assert "stopping-worker" in str(stopped_with.lease_owner)
        assert fleet.writes(run_id) == []

        ended = wait_ended(fleet, run_id)  # by the fleet's own worker, once the lease is over
        assert ended.state is RunState.SUCCEEDED, ended.reason
        before = fleet.writes(run_id)
        assert_each_effect_once(before, zone, 4)
        assert min(write["by"]["fence"] for write in before) > stopped_with.fence

        time.sleep(max(0.0, stopped_at + 2 * LEASE_SECONDS - time.monotonic()))
        os.kill(worker.pid, signal.SIGCONT)
        assert worker.wait(60) == 0
    refusal = f"fence {stopped_with.fence} of run {run_id} is below"
    assert [line for line in said.read_text().splitlines() if "fenced off" in line and refusal in line]
    assert fleet.writes(run_id) == before
    assert fleet.weights()[zone] == WEIGHT
