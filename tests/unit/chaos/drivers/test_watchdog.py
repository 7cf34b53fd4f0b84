"""A stopped process is continued in time, and never one that took its place."""

import signal
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from chaos.drivers.watchdog import keep_watch
from chaos.lab.processes import ProcessRecord, ProcessTable
from controlplane.kernel.clock import VirtualClock

SLEEPER = (sys.executable, "-S", "-c", "import time; time.sleep(600)")


@pytest.fixture
def table(tmp_path: Path) -> Iterator[ProcessTable]:
    table = ProcessTable(tmp_path)
    yield table
    table.terminate([record.name for record in table.records()], grace=0.0)


@pytest.fixture
def stopped(table: ProcessTable) -> ProcessRecord:
    return stop(table, table.spawn("node-b1", SLEEPER, kind="node", owner="lab"))


def stop(table: ProcessTable, record: ProcessRecord) -> ProcessRecord:
    assert table.signal(record.name, signal.SIGSTOP)
    while not table.is_stopped(record):
        pass
    return record


def watched(table: ProcessTable, record: ProcessRecord, clock: VirtualClock) -> bool:
    return keep_watch(table, record.name, record.pid, clock.now() + timedelta(seconds=60), clock)


def test_it_is_continued_when_its_time_is_over(table: ProcessTable, stopped: ProcessRecord) -> None:
    clock = VirtualClock()
    assert watched(table, stopped, clock)
    assert clock.monotonic() == 60
    while table.is_stopped(stopped):
        pass
    assert table.is_alive(stopped)


def test_who_took_its_place_is_left_alone(table: ProcessTable, stopped: ProcessRecord) -> None:
    table.signal("node-b1", signal.SIGKILL)
    while table.is_alive(stopped):
        pass
    present = stop(table, table.respawn("node-b1"))
    clock = VirtualClock()
    assert not watched(table, stopped, clock)
    assert (clock.monotonic(), table.is_stopped(present)) == (0, True)


def test_a_watch_over_what_nobody_knows_any_more_ends(table: ProcessTable, stopped: ProcessRecord) -> None:
    table.terminate([stopped.name], grace=0.0)
    assert not watched(table, stopped, VirtualClock())
