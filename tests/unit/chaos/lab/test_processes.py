"""The table of processes, against real ones: only the process meant is ever signalled."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from chaos.lab.processes import MARK, ProcessRecord, ProcessTable
from controlplane.kernel.errors import Conflict, NotFound, Unavailable

SLEEPER = (sys.executable, "-S", "-c", "import time; time.sleep(600)")
DEAF = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(99)"
)
STUBBORN = (sys.executable, "-S", "-c", DEAF)


@pytest.fixture
def table(tmp_path: Path) -> Iterator[ProcessTable]:
    table = ProcessTable(tmp_path)
    yield table
    table.terminate([record.name for record in table.records()], grace=0.0)
    table.terminate_strays(grace=0.0)


def start(table: ProcessTable, name: str = "node-a1", argv: tuple[str, ...] = SLEEPER) -> ProcessRecord:
    return table.spawn(name, argv, kind="node", owner="lab", env={"COLOUR": "blue"}, zone="zone-a", node=name)


def environment_of(record: ProcessRecord) -> dict[str, str]:
    """What a process was started with: for a moment after its start the kernel shows nothing of it."""
    process = psutil.Process(record.pid)
    while not (environment := process.environ()):
        os.sched_yield()
    return environment


def rewrite(table: ProcessTable, **fields: object) -> None:
    path = table.state_dir / "processes.json"
    document = json.loads(path.read_text())
    document[0].update(fields)
    path.write_text(json.dumps(document))


def wait_for_line(path: Path) -> None:
    while not path.exists() or not path.read_text():
        os.sched_yield()


def test_a_started_process_is_recorded_with_what_identifies_and_repeats_it(table: ProcessTable) -> None:
    record = start(table)

    assert json.loads((table.state_dir / "processes.json").read_text()) == [
        {
            "name": "node-a1",
            "kind": "node",
            "owner": "lab",
            "pid": record.pid,
            "startTime": psutil.Process(record.pid).create_time(),
            "argv": list(SLEEPER),
            "cwd": str(table.state_dir),
            "env": {"COLOUR": "blue"},
            "zone": "zone-a",
            "node": "node-a1",
        }
    ]
    assert table.is_alive(record)


def test_a_started_process_has_its_own_session_and_the_extra_environment(table: ProcessTable) -> None:
    record = start(table)
    environment = environment_of(record)

    assert os.getsid(record.pid) == record.pid
    assert environment["COLOUR"] == "blue"
    assert environment[MARK] == str(table.state_dir)


def test_a_signal_reaches_the_process_and_a_dead_one_gets_none(table: ProcessTable) -> None:
    record = start(table)

    assert table.signal("node-a1", signal.SIGKILL)
    psutil.wait_procs([psutil.Process(record.pid)] if psutil.pid_exists(record.pid) else [], timeout=2)
    assert not table.is_alive(record)
    assert not table.signal("node-a1", signal.SIGKILL)


def test_a_pid_that_belongs_to_somebody_else_by_now_is_never_signalled(table: ProcessTable) -> None:
    start(table)
    stranger = subprocess.Popen(SLEEPER)
    try:
        rewrite(table, pid=stranger.pid, startTime=psutil.Process(stranger.pid).create_time() - 3600)

        assert not table.signal("node-a1", signal.SIGKILL)
        assert table.terminate(["node-a1"], grace=0.0) == []
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_a_living_process_is_not_started_twice(table: ProcessTable) -> None:
    record = start(table)

    with pytest.raises(Conflict, match=f"pid {record.pid}"):
        start(table)
    assert table.respawn("node-a1") == record


def test_a_dead_process_respawns_as_it_was_recorded(table: ProcessTable) -> None:
    before = start(table)
    table.signal("node-a1", signal.SIGKILL)
    while table.is_alive(before):
        os.sched_yield()

    after = table.respawn("node-a1")

    assert after.pid != before.pid
    assert after.model_copy(update={"pid": 0, "start_time": 0.0}) == before.model_copy(
        update={"pid": 0, "start_time": 0.0}
    )
    assert environment_of(after)["COLOUR"] == "blue"
    assert [record.name for record in table.records()] == ["node-a1"]


def test_terminate_ends_stopped_processes_and_forgets_them(table: ProcessTable) -> None:
    record = start(table)
    table.signal("node-a1", signal.SIGSTOP)

    assert table.terminate(["node-a1"], grace=2.0) == []
    assert not table.is_alive(record)
    assert table.records() == []


def test_terminate_kills_what_does_not_listen(table: ProcessTable) -> None:
    record = start(table, argv=STUBBORN)
    wait_for_line(table.log_path("node-a1"))

    assert table.terminate(["node-a1"], grace=0.1) == ["node-a1"]
    assert not table.is_alive(record)


def test_terminate_leaves_the_others_alone(table: ProcessTable) -> None:
    start(table, "node-a1")
    other = start(table, "node-b1")
    table.terminate(["node-a1"], grace=1.0)

    assert table.records() == [other]
    assert table.is_alive(other)


def test_what_a_lost_table_left_running_is_found_by_its_mark(table: ProcessTable, tmp_path: Path) -> None:
    record = start(table)
    (table.state_dir / "processes.json").unlink()

    assert ProcessTable(tmp_path / "elsewhere").strays() == []
    assert table.terminate_strays(grace=1.0) == [record.pid]
    assert not table.is_alive(record)


def test_the_children_of_a_recorded_process_are_no_strays(table: ProcessTable) -> None:
    record = start(table, argv=("/bin/sh", "-c", "sleep 99 & echo 1; wait"))
    wait_for_line(table.log_path("node-a1"))
    child = psutil.Process(record.pid).children()[0]

    assert table.strays() == []
    table.terminate(["node-a1"], grace=1.0)
    assert table.strays() == [child]


def test_a_program_that_is_not_there_leaves_no_record(table: ProcessTable) -> None:
    with pytest.raises(Unavailable, match="cannot start node-a1"):
        start(table, argv=("/does/not/exist",))
    assert table.records() == []


def test_an_unknown_name_is_an_error_that_lists_the_known_ones(table: ProcessTable) -> None:
    start(table)

    with pytest.raises(NotFound, match="node-a1"):
        table.signal("node-x", signal.SIGTERM)


def test_an_interrupted_start_is_recorded_before_it_unwinds(
    table: ProcessTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    class Interrupting(psutil.Process):
        def __init__(self, pid: int | None = None) -> None:
            if pid is not None and not started:
                started.append(pid)
                signal.raise_signal(signal.SIGTERM)
            super().__init__(pid)

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(psutil, "Process", Interrupting)
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            start(table)
    finally:
        restored = signal.signal(signal.SIGTERM, before)
    assert restored is interrupt
    assert [record.pid for record in table.records()] == started
    assert table.is_alive(table.get("node-a1"))
