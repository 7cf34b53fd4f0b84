"""The control plane's own processes on one machine: Redis, API, controller, worker, reaper.

Each is started detached and recorded in the process table. One that dies is started again
after a back-off that doubles up to half a minute and is forgotten once it has lived a
minute. It never touches the lab's processes.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chaos.lab.processes import Kind, ProcessTable
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import FleetwardError, Unavailable

FIRST_BACKOFF = 0.5
MAX_BACKOFF = 30.0
SETTLED = 60.0
"""Seconds after which a process that lives counts as well again."""

CARRIER: Kind = "redis"

COMMAND = (sys.executable, "-m", "controlplane.cli.main")


@dataclass(slots=True)
class _Part:
    name: Kind
    argv: tuple[str, ...]
    started: float = 0.0
    backoff: float = FIRST_BACKOFF
    restarts: int = 0
    retry_at: float | None = None


@dataclass(slots=True)
class Stack:
    """The five processes of one state directory.

    ``environment`` is added to each process; ``api_port`` and ``redis_port`` are free ports.
    """

    table: ProcessTable
    clock: Clock
    api_port: int
    redis_port: int
    environment: Mapping[str, str] = field(default_factory=dict)
    _parts: list[_Part] = field(default_factory=list)

    @property
    def state_dir(self) -> Path:
        return self.table.state_dir

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.api_port}"

    def start_carrier(self) -> None:
        """Start Redis and write down where it is: the others read it."""
        binary = shutil.which("redis-server")
        if binary is None:
            msg = "redis-server is not installed"
            raise Unavailable(
                msg, hint="install it (Debian: apt-get install redis-server, macOS: brew install redis)"
            )
        address = {"broker": f"redis://127.0.0.1:{self.redis_port}/0", "api": self.api}
        (self.state_dir / "fleet.json").write_text(json.dumps(address, indent=1) + "\n")
        argv = (
            binary,
            "--port",
            str(self.redis_port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        )
        self._start(CARRIER, (*argv, "--dir", str(self.state_dir), "--daemonize", "no"))

    def start_api(self) -> None:
        self._start("api", (*COMMAND, "api", "--port", str(self.api_port)))

    def start_loop(self) -> None:
        """Start what observes, decides and acts; the lab must be up."""
        self._start("controller", (*COMMAND, "controller"))
        self._start("worker", (*COMMAND, "worker"))
        self._start("reaper", (*COMMAND, "chaos", "reaper"))

    def tend(self) -> list[str]:
        """Start again what has died and is due; return one sentence for each thing noticed."""
        now = self.clock.monotonic()
        said = []
        for part in self._parts:
            record = self.table.get(part.name)
            if self.table.is_alive(record):
                if now - part.started > SETTLED:
                    part.backoff = FIRST_BACKOFF
            elif part.retry_at is None:
                part.retry_at = now + part.backoff
                log = self.table.log_path(part.name)
                said.append(f"{part.name} has ended; starting it again in {part.backoff:g} s (see {log})")
                part.backoff = min(part.backoff * 2, MAX_BACKOFF)
            elif now >= part.retry_at:
                said.append(self._start_again(part))
        return said

    def stop(self, grace: float = 8.0) -> list[str]:
        """End the processes, Redis after those that talk to it; return the names that had to be killed."""
        self._parts.clear()
        return _end_all(self.table, grace)

    def _start_again(self, part: _Part) -> str:
        try:
            self._spawn(part)
        except FleetwardError as error:
            part.retry_at = None
            return f"{part.name} cannot be started again now: {error}"
        part.restarts += 1
        return f"{part.name} started again ({part.restarts})"

    def _start(self, name: Kind, argv: tuple[str, ...]) -> None:
        part = _Part(name, argv)
        self._spawn(part)
        self._parts.append(part)

    def _spawn(self, part: _Part) -> None:
        environment = {"FLEETWARD_STATE_DIR": str(self.state_dir), **self.environment}
        self.table.spawn(part.name, part.argv, kind=part.name, owner="fleetward", env=environment)
        part.started = self.clock.monotonic()
        part.retry_at = None


def end_leftovers(table: ProcessTable, grace: float = 5.0) -> list[str]:
    """End control plane processes that an earlier start left in this state directory; return their names."""
    left = [
        record.name for record in table.records() if record.owner == "fleetward" and table.is_alive(record)
    ]
    _end_all(table, grace)
    return left


def _end_all(table: ProcessTable, grace: float) -> list[str]:
    """Ask the table, not anybody's memory: a start may have been cut short before it was remembered."""
    names = [record.name for record in table.records() if record.owner == "fleetward"]
    killed = table.terminate([name for name in names if name != CARRIER], grace)
    return killed + table.terminate([name for name in names if name == CARRIER], grace)
