"""Real Celery workers over a real Redis: killed without warning, they double nothing and lose nothing."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.act.plan import RunPlan
from controlplane.act.start import StartRequest, start_run
from controlplane.act.sweep import sweep
from controlplane.carrier import Sender
from controlplane.kernel.clock import SystemClock
from controlplane.kernel.errors import Unavailable
from controlplane.model.records import Run
from controlplane.model.states import RunState, is_final
from controlplane.store.database import Database
from tests.support.ports import free_port
from tests.support.steps import SERVICE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

WORKER = Path(__file__).with_name("worker_process.py")
STAGES = 12
PATIENCE = 150.0
"""Seconds: a bound for a machine that is busy with something else, not a measure of ours."""


def _until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)


class Stage:
    """One database, one broker, workers that come and go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.broker = f"redis://127.0.0.1:{self.port}/0"
        self.url = f"sqlite:///{folder / 'fleetward.db'}"
        self.log = folder / "effects.jsonl"
        self.log.touch()
        self.database = Database(self.url, SystemClock())
        self.database.migrate()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.redis = self.start_redis()
        with self.database.transaction() as tx:
            self.service = tx.documents.put(SERVICE)

    def start_redis(self) -> subprocess.Popen[bytes]:
        arguments = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        process = subprocess.Popen(arguments, cwd=self.folder, stdout=subprocess.DEVNULL)
        self.processes.append(process)

        def answers() -> bool:
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.5).close()
            except OSError:
                return False
            return True

        _until(answers, 10, "Redis answers")
        return process

    def start_worker(self, name: str) -> subprocess.Popen[bytes]:
        arguments = [sys.executable, str(WORKER), self.url, self.broker, str(self.log), name]
        with (self.folder / f"{name}.log").open("ab") as output:
            environment = {**os.environ, "PYTHONPATH": str(Path.cwd()), "PYTHONUNBUFFERED": "1"}
            process = subprocess.Popen(arguments, stdout=output, stderr=output, env=environment)
        self.processes.append(process)
        return process

    def start_run(self, wake: Callable[[str], None] | None, **parameters: Any) -> Run:
        steps = [{"id": "ramp", "uses": "file.ramp", "with": {"stages": STAGES, **parameters}}]
        request = StartRequest(
            "playbook", "test", "chat", RunPlan.model_validate({"steps": steps}), {"Service": self.service}
        )
        with self.database.transaction() as tx:
            return start_run(tx, request, wake)

    def run(self, run: Run) -> Run:
        with self.database.reading() as tx:
            return tx.runs.get(run.id)

    def effects(self, run: Run) -> list[int]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines()]
        return [line["stage"] for line in lines if line["key"].startswith(run.id)]

    def wait_for_effects(self, run: Run, count: int) -> None:
        _until(lambda: len(self.effects(run)) >= count, PATIENCE, f"{run.id} has {count} effects")

    def wait_for_end(self, run: Run, seconds: float = PATIENCE) -> Run:
        _until(lambda: is_final(self.run(run).state), seconds, f"{run.id} ends")
        return self.run(run)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self.database.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    found = Stage(tmp_path)
    yield found
    found.close()


def test_a_message_makes_a_worker_finish_a_run(stage: Stage) -> None:
    stage.start_worker("one")
    run = stage.start_run(Sender(stage.broker))
    assert stage.wait_for_end(run).state == RunState.SUCCEEDED
    assert stage.effects(run) == list(range(1, STAGES + 1))


def test_workers_killed_in_the_middle_double_and_lose_nothing(stage: Stage) -> None:
    stage.start_worker("stays")
    run = stage.start_run(Sender(stage.broker), each=0.1)
    for number in range(3):
        victim = stage.start_worker(f"victim-{number}")
        reached = len(stage.effects(run)) + 2
        stage.wait_for_effects(run, min(reached, STAGES))
        holder = stage.run(run).lease_owner
        for process in (victim, stage.processes[1]):
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert holder is not None or is_final(stage.run(run).state)
        stage.processes[1] = stage.start_worker(f"next-{number}")
    assert stage.wait_for_end(run).state == RunState.SUCCEEDED
    assert stage.effects(run) == list(range(1, STAGES + 1))


def test_a_stopped_worker_that_comes_back_is_fenced_off(stage: Stage) -> None:
    frozen = stage.start_worker("frozen")
    run = stage.start_run(Sender(stage.broker), each=0.8)
    stage.wait_for_effects(run, 2)  # it is now in the middle of an effect, with no transaction open
    frozen.send_signal(signal.SIGSTOP)
    stage.start_worker("second")
    try:
        assert stage.wait_for_end(run).state == RunState.SUCCEEDED
    finally:
        frozen.send_signal(signal.SIGCONT)
    log = stage.folder / "frozen.log"
    _until(lambda: "fenced off" in log.read_text(), PATIENCE, "the first worker notices")
    assert stage.effects(run) == list(range(1, STAGES + 1))


def test_without_a_broker_runs_start_and_go_on_when_it_is_back(stage: Stage) -> None:
    stage.redis.kill()
    stage.redis.wait()
    sender = Sender(stage.broker)
    before = time.monotonic()
    with pytest.raises(Unavailable):
        sender("run-1")
    run = stage.start_run(sender)
    assert sweep(stage.database, sender) == 0
    assert time.monotonic() - before < 6
    stage.start_worker("one")
    stage.redis = stage.start_redis()
    assert stage.wait_for_end(run).state == RunState.SUCCEEDED
    assert stage.effects(run) == list(range(1, STAGES + 1))


def test_a_sender_counts_the_messages_that_wait(stage: Stage) -> None:
    sender = Sender(stage.broker)
    assert sender.waiting() == 0
    for number in range(3):
        sender(f"run-{number}")
    assert sender.waiting() == 3


def test_a_sender_survives_a_restart_of_the_broker(stage: Stage) -> None:
    sender = Sender(stage.broker)
    sender("run-1")
    stage.redis.kill()
    stage.redis.wait()
    stage.redis = stage.start_redis()

    def sends() -> bool:
        try:
            sender("run-2")
        except Unavailable:
            return False
        return True

    _until(sends, 5, "the sender is connected again")
