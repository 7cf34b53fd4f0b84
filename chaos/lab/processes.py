"""Which operating-system processes belong to a state directory, and what may be done to them.

``processes.json`` keeps for each process its pid, start time and argument vector. A pid alone
names nothing: it is handed out again. So a signal goes out only if a process with that pid
*and* that start time exists; and since argument vector, folder and extra environment stand
beside it, whoever killed a process (a drill, a test) can start it again from the record.

Every change happens under an exclusive lock on ``processes.lock`` and replaces the file in one
rename, so that any number of processes may use the same table. Started processes get a session
of their own (a Ctrl-C at the terminal is for the starter), a log file, and a mark in their
environment by which an earlier start's leftovers are found even if the table was lost.

This module restarts nothing by itself and does not know what the processes do.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import psutil
from pydantic import Field

from controlplane.kernel.clock import Clock, SystemClock
from controlplane.kernel.errors import Conflict, NotFound, Unavailable
from controlplane.model.base import Model

Kind = Literal[
    "node", "envoy", "prometheus", "traffic", "gateway", "redis", "api", "controller", "worker", "reaper"
]
Owner = Literal["lab", "fleetward"]

MARK = "FLEETWARD_SPAWNED_FOR"
"""Environment variable in every started process; its value is the state directory."""

START_TIME_TOLERANCE = 2.0
"""Seconds. The kernel derives start times from a boot time that it rounds to whole seconds and
moves when the wall clock is set; a pid is not handed out twice within that."""

_INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}
"""Handles of what this interpreter started: polling them reaps, so that a dead child is no zombie."""


class ProcessRecord(Model):
    """One entry of ``processes.json``; ``start_time`` in unix seconds, ``env`` the extra variables only."""

    name: str
    kind: Kind
    owner: Owner
    pid: int
    start_time: float
    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str] = Field(default_factory=dict)
    zone: str | None = None
    node: str | None = None


class ProcessTable:
    """The processes of one state directory; every method may be called from several processes at once."""

    def __init__(self, state_dir: Path, clock: Clock | None = None) -> None:
        self.state_dir = state_dir.resolve()
        self._path = self.state_dir / "processes.json"
        self._clock = clock or SystemClock()

    # ── reading ─────────────────────────────────────────────────────────────────────────────────────────────

    def records(self) -> list[ProcessRecord]:
        """All records, whether their process lives or not."""
        try:
            text = self._path.read_text()
        except FileNotFoundError:
            return []
        return [ProcessRecord.model_validate(item) for item in json.loads(text)]

    def get(self, name: str) -> ProcessRecord:
        """Return the record called ``name``; raises NotFound."""
        for record in self.records():
            if record.name == name:
                return record
        known = ", ".join(record.name for record in self.records()) or "none"
        raise NotFound(f"no process called {name!r} in {self._path}", hint=f"known: {known}")

    def is_alive(self, record: ProcessRecord) -> bool:
        """Whether exactly this process (same pid, same start time) still runs; a zombie does not."""
        return _find(record) is not None

    def is_stopped(self, record: ProcessRecord) -> bool:
        """Whether exactly this process is there and stopped (SIGSTOP)."""
        process = _find(record)
        try:
            return process is not None and process.status() == psutil.STATUS_STOPPED
        except psutil.Error:
            return False

    def log_path(self, name: str) -> Path:
        return self.state_dir / "logs" / f"{name}.log"

    # ── starting ────────────────────────────────────────────────────────────────────────────────────────────

    def spawn(
        self,
        name: str,
        argv: Sequence[str],
        *,
        kind: Kind,
        owner: Owner,
        env: Mapping[str, str] | None = None,
        zone: str | None = None,
        node: str | None = None,
    ) -> ProcessRecord:
        """Start a detached process in the state directory and record it.

        A dead record of the same name is replaced. Raises Conflict if that process lives,
        Unavailable if the program cannot be started.
        """
        with self._locked():
            return self._start(
                ProcessRecord(
                    name=name, kind=kind, owner=owner, pid=0, start_time=0.0, argv=tuple(argv),
                    cwd=str(self.state_dir), env=dict(env or {}), zone=zone, node=node,
                )
            )  # fmt: skip

    def respawn(self, name: str) -> ProcessRecord:
        """Start ``name`` again as it was recorded; a process that lives is left alone and returned."""
        with self._locked():
            record = self.get(name)
            return record if self.is_alive(record) else self._start(record)

    def _start(self, record: ProcessRecord) -> ProcessRecord:
        others = [other for other in self.records() if other.name != record.name]
        for other in self.records():
            if other.name == record.name and self.is_alive(other):
                raise Conflict(f"{record.name} already runs as pid {other.pid}")
        log = self.log_path(record.name)
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        environment = {**os.environ, **record.env, MARK: str(self.state_dir)}
        with _undisturbed():
            try:
                with log.open("ab") as output:
                    child = subprocess.Popen(
                        record.argv, cwd=record.cwd, env=environment, stdin=subprocess.DEVNULL,
                        stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                    )  # fmt: skip
            except OSError as error:
                raise Unavailable(f"cannot start {record.name}: {error}") from error
            _CHILDREN[child.pid] = child
            start_time = psutil.Process(child.pid).create_time()
            started = record.model_copy(update={"pid": child.pid, "start_time": start_time})
            self._write([*others, started])
        return started

    # ── ending ──────────────────────────────────────────────────────────────────────────────────────────────

    def signal(self, name: str, number: signal.Signals) -> bool:
        """Send a signal if pid and start time agree; returns whether it was sent. Raises NotFound."""
        process = _find(self.get(name))
        if process is None:
            return False
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            return False
        return True

    def terminate(self, names: Iterable[str], grace: float) -> list[str]:
        """End processes: SIGTERM to all, after ``grace`` seconds SIGKILL to the rest; forget their records.

        Stopped processes (SIGSTOP) are continued, so that they can end by themselves. Returns the
        names that had to be killed. Raises Unavailable if one is left even so (its record stays).
        """
        wanted = set(names)
        found = {record.name: _find(record) for record in self.records() if record.name in wanted}
        alive = {name: process for name, process in found.items() if process is not None}
        killed = self._end(alive, grace)
        self.forget(found)
        return killed

    def strays(self) -> list[psutil.Process]:
        """Living processes that carry this state directory's mark and that no record accounts for.

        A recorded process accounts for its children (a worker's pool), and we for our ancestors.
        """
        recorded = {record.pid for record in self.records() if self.is_alive(record)}
        ours = {os.getpid(), *(parent.pid for parent in psutil.Process().parents())}
        others = [process for process in psutil.process_iter() if process.pid not in recorded | ours]
        return [
            process for process in others if self._is_marked(process) and not _descends(process, recorded)
        ]

    def terminate_strays(self, grace: float) -> list[int]:
        """End what ``strays`` finds; returns their pids."""
        strays = self.strays()
        self._end({f"pid {process.pid}": process for process in strays}, grace)
        return [process.pid for process in strays]

    def forget(self, names: Iterable[str]) -> None:
        """Drop records (not processes)."""
        gone = set(names)
        with self._locked():
            self._write([record for record in self.records() if record.name not in gone])

    def _is_marked(self, process: psutil.Process) -> bool:
        try:
            return _runs(process) and process.environ().get(MARK) == str(self.state_dir)
        except (psutil.Error, OSError):
            return False  # another user's process, or one that has just ended: not ours

    def _end(self, processes: Mapping[str, psutil.Process], grace: float) -> list[str]:
        for process in processes.values():
            _send(process, signal.SIGTERM)
            _send(process, signal.SIGCONT)
        left = self._wait_gone(processes, grace)
        for name in left:
            _send(processes[name], signal.SIGKILL)
        still = self._wait_gone({name: processes[name] for name in left}, 5.0)
        if still:
            raise Unavailable(f"not ended even by SIGKILL: {', '.join(still)}")
        return left

    def _wait_gone(self, processes: Mapping[str, psutil.Process], seconds: float) -> list[str]:
        deadline = self._clock.monotonic() + seconds
        left = [name for name, process in processes.items() if _runs(process)]
        while left and self._clock.monotonic() < deadline:
            self._clock.sleep(0.02)
            left = [name for name in left if _runs(processes[name])]
        return left

    # ── the file ────────────────────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.state_dir / "processes.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _write(self, records: Sequence[ProcessRecord]) -> None:
        document = [record.model_dump(mode="json", by_alias=True, exclude_none=True) for record in records]
        draft = self._path.with_suffix(".json.new")
        draft.write_text(json.dumps(document, indent=1) + "\n")
        draft.replace(self._path)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold Ctrl-C and its like back until a process that was started is written down.

    What a handler raises between the two would leave a process that nobody knows of.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread only
        return
    held: list[int] = []
    numbers = [number for number in _INTERRUPTIONS if callable(signal.getsignal(number))]
    before = {number: signal.signal(number, lambda number, _: held.append(number)) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for missed in held:
            signal.raise_signal(missed)


def _find(record: ProcessRecord) -> psutil.Process | None:
    """The process a record speaks of, or None if it ended (even if its pid is somebody else's by now)."""
    try:
        process = psutil.Process(record.pid)
        same = abs(process.create_time() - record.start_time) <= START_TIME_TOLERANCE
    except psutil.Error:
        return None
    return process if same and _runs(process) else None


def _runs(process: psutil.Process) -> bool:
    child = _CHILDREN.get(process.pid)
    if child is not None and child.poll() is not None:
        del _CHILDREN[process.pid]
    try:
        return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _descends(process: psutil.Process, ancestors: set[int]) -> bool:
    try:
        return any(parent.pid in ancestors for parent in process.parents())
    except psutil.Error:
        return False


def _send(process: psutil.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except psutil.NoSuchProcess:
        return  # it ended meanwhile, which is what was asked
