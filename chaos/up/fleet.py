"""The embedded fleet as one thing: up, tended, down.

A state directory has one owner at a time (a lock that dies with its holder). What an
earlier start left there is adopted (a whole lab) or ended. Starting is done side by side
where nothing waits for the other, so that a person does not wait for the sum.
"""

from __future__ import annotations

import fcntl
import json
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, TextIO

import httpx

from chaos.lab.layout import LabSettings, free_ports
from chaos.lab.processes import ProcessTable
from chaos.lab.supervisor import Lab
from chaos.up.stack import COMMAND, Stack, end_leftovers
from controlplane.kernel.clock import Clock, SystemClock
from controlplane.kernel.errors import Conflict, FleetwardError, Unavailable
from controlplane.model.base import Mode
from controlplane.model.signals import SIGNALS
from controlplane.store.database import Database

Progress = Callable[[str], None]

READY_SECONDS = 120.0
"""About 8 s are usual; a machine that does other things as well may need longer."""
POLL_SECONDS = 0.2
FRESH = timedelta(seconds=6)
"""A controller that measured within three ticks is at work."""


@dataclass(frozen=True, slots=True)
class FleetOptions:
    """What can be chosen about an embedded fleet; ``documents`` are files or folders to apply."""

    state_dir: Path
    documents: tuple[Path, ...]
    lab: LabSettings = field(default_factory=LabSettings)
    mode: Mode | None = None
    api_port: int | None = None


class EmbeddedFleet:
    """Lab and control plane of one state directory. Not to be used from two threads."""

    def __init__(self, options: FleetOptions, clock: Clock | None = None) -> None:
        self.options = options
        self.clock = clock or SystemClock()
        self.state_dir = options.state_dir.resolve()
        self.table = ProcessTable(self.state_dir)
        self.lab = Lab(self.state_dir, options.lab)
        self.database = Database(f"sqlite:///{self.state_dir / 'fleetward.db'}", self.clock)
        ports = free_ports(2)
        self.stack = Stack(self.table, self.clock, options.api_port or ports[0], ports[1])

    @contextmanager
    def running(self, progress: Progress, stop: threading.Event | None = None) -> Iterator[EmbeddedFleet]:
        """Bring everything up, and down again however the block ends; ``stop`` is set before it goes down."""
        with self._owned():
            try:
                self._start(progress)
                yield self
            finally:
                if stop is not None:
                    stop.set()
                self._stop(progress)

    def tend(self) -> list[str]:
        """Keep the control plane's processes alive; return what was noticed, in sentences."""
        return self.stack.tend()

    def sign_in_address(self) -> str:
        """Return the console's address with a single-use token in its fragment."""
        return str(self._command("login")["address"])

    @contextmanager
    def _owned(self) -> Iterator[None]:
        self.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.state_dir / "up.lock").open("w") as lock:
            self._take(lock)
            yield

    def _take(self, lock: TextIO) -> None:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            msg = f"another `fleetward up` runs in {self.state_dir}"
            raise Conflict(msg, hint="stop it, or choose another --state-dir") from error

    def _start(self, progress: Progress) -> None:
        for name in end_leftovers(self.table):
            progress(f"ended {name}, left by an earlier start")
        self.stack.start_carrier()
        with ThreadPoolExecutor(1, "database") as beside:
            prepared = beside.submit(self._prepare_database)
            if self.lab.adopt():
                progress("adopted the lab that an earlier start left running")
            else:
                self.lab.start(progress)
            token = prepared.result()
        if token is not None:
            progress(f"admin token (shown once, keep it): {token}")
        self.stack.start_api()
        self.stack.start_loop()
        self._wait_ready(progress)

    def _stop(self, progress: Progress) -> None:
        progress("stopping")
        killed: list[str] = []
        try:
            killed += self.stack.stop()
        finally:
            killed += self.lab.stop(progress)
            self.database.close()
        if killed:
            progress(f"had to kill: {', '.join(killed)}")

    def _prepare_database(self) -> str | None:
        """Apply the documents; return the admin token if this is the first start.

        It is made here rather than by the API, whose words go into a log file.
        """
        mode = ["--mode", self.options.mode] if self.options.mode else []
        self._command("apply", *mode, *(str(path) for path in self.options.documents))
        token: str | None = self._command("admin-token")["token"]
        return token

    def _wait_ready(self, progress: Progress) -> None:
        deadline = self.clock.monotonic() + READY_SECONDS
        waiting: dict[str, Callable[[], bool]] = {"API": self._api_answers, "controller": self._is_measured}
        while waiting:
            for name in [name for name, is_ready in waiting.items() if is_ready()]:
                del waiting[name]
                progress(f"{name} ready")
            for line in self.tend():
                progress(line)
            if waiting and self.clock.monotonic() > deadline:
                msg = f"not ready after {READY_SECONDS:.0f} s: {', '.join(waiting)}"
                raise Unavailable(msg, hint=f"see {self.state_dir / 'logs'}")
            self.clock.sleep(POLL_SECONDS if waiting else 0)

    def _api_answers(self) -> bool:
        try:
            return httpx.get(f"{self.stack.api}/api/v1/readyz", timeout=2).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    def _is_measured(self) -> bool:
        try:
            with self.database.reading() as tx:
                measured_at = tx.snapshots.at(SIGNALS)
        except FleetwardError:
            return False
        return measured_at is not None and self.clock.now() - measured_at < FRESH

    def _command(self, *argv: str) -> Any:
        """Run one of the control plane's commands and return the JSON that it prints."""
        line = [*COMMAND, *argv, "--state-dir", str(self.state_dir), "-o", "json"]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode:
            msg = f"`fleetward {argv[0]}` failed: {done.stderr.strip()}"
            raise Unavailable(msg)
        return json.loads(done.stdout)


def shipped_documents(extra: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Return where the shipped playbooks, the lab's service and the drill catalogue lie, and ``extra``."""
    chaos = Path(__file__).parents[1]
    playbooks = chaos.parent / "controlplane" / "shipped" / "playbooks"
    if not playbooks.is_dir():
        playbooks = chaos.parent / "playbooks"
    return (playbooks, chaos / "lab" / "fleet", chaos / "catalog", *extra)
