"""Continues a stopped process at a given time, whatever has become of who stopped it.

A stopped process keeps no time, so the end of its fault must be kept beside it: in a small process
of its own, that lives on when the worker, the reaper and the control plane are gone. It continues a
process only if pid and start time agree, and it ends once there is nothing left to watch.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from chaos.lab.processes import MARK, ProcessRecord, ProcessTable
from controlplane.kernel.clock import Clock, SystemClock
from controlplane.kernel.errors import NotFound, Unavailable

LOOK_EVERY = 1.0
"""Seconds between two looks: who was killed and started again needs no watch any more."""

_WATCHES: list[subprocess.Popen[bytes]] = []
"""What this interpreter started: looked at with the next one, so that an ended watch is no zombie."""


def watch(state_dir: Path, record: ProcessRecord, until: datetime) -> None:
    """Start the watch over a process. Raises `Unavailable` when none can be started."""
    argv = (
        sys.executable, "-P", "-m", "chaos.drivers.watchdog",
        str(state_dir), record.name, str(record.pid), until.isoformat(),
    )  # fmt: skip
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root, MARK: str(state_dir.resolve())}
    _WATCHES[:] = [each for each in _WATCHES if each.poll() is None]
    try:
        started = subprocess.Popen(
            argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise Unavailable(f"nothing would continue {record.name} in time: {error}") from error
    _WATCHES.append(started)


def keep_watch(table: ProcessTable, name: str, pid: int, until: datetime, clock: Clock) -> bool:
    """Wait until ``until`` and continue the process; False when it is gone before."""
    while _stands(table, name, pid):
        left = (until - clock.now()).total_seconds()
        if left <= 0:
            return table.signal(name, signal.SIGCONT)
        clock.sleep(min(LOOK_EVERY, left))
    return False


def _stands(table: ProcessTable, name: str, pid: int) -> bool:
    try:
        record = table.get(name)
    except NotFound:
        return False
    return record.pid == pid and table.is_alive(record)


def main() -> None:
    """Keep the watch that the command line names."""
    state_dir, name, pid, until = sys.argv[1:]
    clock = SystemClock()
    keep_watch(ProcessTable(Path(state_dir), clock), name, int(pid), datetime.fromisoformat(until), clock)


if __name__ == "__main__":
    main()
