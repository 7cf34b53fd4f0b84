"""The engine on a virtual clock: a real database file, the fleet in memory, executors that may crash.

`Rig.finish` plays sweeper and workers until a run has ended. A `Fuse` lets the process "die"
(a `Crash`, which nothing catches) at a chosen commit or effect; what it held in memory is gone,
and a new executor goes on from the file alone.
"""

import functools
import inspect
import math
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Dialect, event

from controlplane.act.approve import StoreApprovals
from controlplane.act.cancel import cancel_run, supersede_run
from controlplane.act.executor import Executor
from controlplane.act.plan import RunPlan
from controlplane.act.start import StartRequest, start_run
from controlplane.act.sweep import sweep
from controlplane.actions import register
from controlplane.kernel.clock import SystemClock, VirtualClock
from controlplane.kernel.ids import new_id
from controlplane.kernel.registry import Registry
from controlplane.model.action import (
    Action,
    ActionRegistry,
    SignalReader,
)
from controlplane.model.approval import Approvals
from controlplane.model.policy import Policy
from controlplane.model.ports import Engines, Freezes, Metrics, Notification, Notifier
from controlplane.model.records import Halt, JournalLine, Run, StepRecord, UndoView
from controlplane.model.states import is_final
from controlplane.platforms.memory import MemoryPlatform
from controlplane.platforms.port import Platform
from controlplane.store.database import Database
from controlplane.store.freeze_port import StoreFreezes
from controlplane.store.runs import RunQuery
from tests.support.mailbox import Mailbox
from tests.support.scripted import ZONE_A
from tests.support.shared_clock import SharedClock
from tests.support.steps import SERVICE, FakeEngines, Numbers, Outbox, Signals

LEASE_OVER = 16.0


class Crash(BaseException):
    """The process is gone. Not an `Exception`: nothing that handles errors may see it."""


def die(point: str) -> None:
    """What happens at a point by default."""
    raise Crash(point)


@dataclass
class Fuse:
    """Counts the points at which a process can die or be stopped, and strikes at the one it was set to."""

    at: int | None = None
    strike: Callable[[str], None] = die
    passed: list[str] = field(default_factory=list)

    def pass_(self, point: str) -> None:
        self.passed.append(point)
        if len(self.passed) == self.at:
            self.strike(point)


@contextmanager
def around_effect(fuse: Fuse | None) -> Iterator[None]:
    """Pass the two points of one effect."""
    if fuse is not None:
        fuse.pass_("before an effect")
    yield
    if fuse is not None:
        fuse.pass_("after an effect")


class Elsewhere(deque[Connection]):
    """Idle connections to one file; one to another, lent when its process was forked, is kept apart."""

    def __init__(self, path: Path, left: Iterable[Connection]) -> None:
        super().__init__()
        self._path = path
        self._left = list(left)  # not closed either: they are the parent's

    def append(self, connection: Connection) -> None:
        file = connection.connection.cursor().execute("PRAGMA database_list").fetchone()[2]
        (super().append if Path(file) == self._path.resolve() else self._left.append)(connection)


class FusedDatabase(Database):
    """A database whose process may die right before and right after each commit."""

    fuse: Fuse | None = None
    path: Path | None = None
    """The file of connections that are made from now on, when it is another than at first."""

    def connect_there(self, dialect: Any, record: Any, arguments: list[Any], options: Any) -> None:
        if self.path is not None:
            arguments[0] = str(self.path)

    def move(self, path: Path) -> None:
        """Use another file from now on, as a forked process must; what is compiled is as good there."""
        self.path, self._idle = path, Elsewhere(path, self._idle)
        self.engine.dispose(close=False)

    def _commit(self, unit: Any) -> None:
        if self.fuse is not None:
            self.fuse.pass_("before a commit")
        super()._commit(unit)
        if self.fuse is not None:
            self.fuse.pass_("after a commit")


WRITES = frozenset(
    name
    for name, call in vars(Platform).items()
    if inspect.isfunction(call) and "by" in inspect.signature(call).parameters
)
"""The port's calls that change something: they carry who writes."""


class FusedPlatform(MemoryPlatform):
    """A platform whose caller may die right before and right after each effect."""

    fuse: Fuse | None = None
    before_effect: Callable[[], None] | None = None
    """What happens while the caller is stopped right before an effect."""

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return functools.partial(self._write, found) if name in WRITES else found

    def _write(self, call: Callable[..., Any], *args: Any, **more: Any) -> Any:
        if self.before_effect is not None:
            self.before_effect()
        with around_effect(self.fuse):
            return call(*args, **more)


class FusedOutbox(Outbox):
    """A notifier whose caller may die right before and right after each message."""

    fuse: Fuse | None = None

    def send(self, notification: Notification, **more: Any) -> None:
        with around_effect(self.fuse):
            super().send(notification, **more)


@functools.cache
def _template() -> tuple[bytes, Dialect]:
    """Return the bytes of a migrated, empty database, and what statements are compiled for.

    Migrating once is enough for a test run, and so is compiling a statement once.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty.db"
        database = Database(f"sqlite:///{path}", SystemClock())
        database.migrate()
        with database.engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()
        return path.read_bytes(), database.engine.dialect


def _without_waiting_for_the_disk(connection: Any, record: Any) -> None:
    """A process that dies in a test takes no power with it: what was written is in the file."""
    connection.execute("PRAGMA synchronous = OFF")


def fresh_database(folder: Path, clock: VirtualClock, name: str = "fleetward.db") -> FusedDatabase:
    """Return an empty database with today's schema."""
    path = folder / name
    path.write_bytes(_template()[0])
    return open_database(path, clock)


def open_database(path: Path, clock: VirtualClock) -> FusedDatabase:
    """Return the database that is there."""
    database = FusedDatabase(f"sqlite:///{path}", clock)
    event.listen(database.engine, "do_connect", database.connect_there)
    event.listen(database.engine, "connect", _without_waiting_for_the_disk)
    database.engine.dialect = _template()[1]
    return database


class Rig:
    """One database, one fleet, one clock, and as many executors as a test wants."""

    def __init__(
        self,
        folder: Path,
        *actions: Action[Any],
        policy: Mapping[str, Any] | None = None,
        fleet: Mapping[str, Any] | None = None,
    ) -> None:
        self._fleet: dict[str, Any] = dict(fleet or {})
        self.clock = SharedClock()
        self.folder = folder
        self.database = fresh_database(folder, self.clock)
        self.platform = FusedPlatform(self.clock, **self._fleet)
        self.signals = Signals(self.clock)
        self.metrics = Numbers([1.0])
        self.outbox = FusedOutbox()
        self.actions: ActionRegistry = Registry("action")
        register(self.actions)
        for action in actions:
            self.actions.add(action.name, action)
        self.woken = Mailbox()
        self.executors = 0
        self.executor = self.new_executor()
        with self.database.transaction() as tx:
            self.pins = {"Service": tx.documents.put(SERVICE)}
            if policy is not None:
                document = {"kind": "Policy", "metadata": {"name": "policy"}, "spec": dict(policy)}
                self.pins["Policy"] = tx.documents.put(Policy.model_validate(document))

    def renew(self) -> None:
        """Begin again with an untouched fleet, on the same database: another run sees nothing of the last."""
        self.platform = FusedPlatform(self.clock, **self._fleet)
        self.outbox = FusedOutbox()
        self.arm(None)
        self.woken.clear()
        self.woken.copies, self.woken.refused = 1, 0
        with self.database.transaction() as tx:
            for row in tx.ledger.list():
                tx.ledger.release(holder=row.holder)
        self.executor = self.new_executor()

    def reopen(self) -> None:
        """Open the database anew: in a forked process nothing of the parent's may be used."""
        self.database = open_database(self.folder / "fleetward.db", self.clock)

    def part(self, folder: Path) -> None:
        """Go on alone in a forked process: on a copy of the database's files, in a time of its own."""
        folder.mkdir()
        for file in self.folder.glob("fleetward.db*"):
            if not file.name.endswith("-shm"):  # belongs to those who have the file open; it is made anew
                shutil.copy(file, folder)
        self.clock.part()
        self.folder = folder
        self.database.move(folder / "fleetward.db")

    def new_executor(self) -> Executor:
        """Return another worker of the same fleet."""
        self.executors += 1
        ports: dict[type, object] = {
            Platform: self.platform,
            SignalReader: self.signals,
            Approvals: StoreApprovals(self.database),
            Metrics: self.metrics,
            Freezes: StoreFreezes(self.database),
            Notifier: self.outbox,
            Engines: FakeEngines(),
        }
        owner = f"worker-{self.executors}"
        return Executor(
            self.database, self.actions, ports, self.woken.append, self.clock, owner, keep_leases=False
        )

    def start(self, *steps: Mapping[str, Any], **more: Any) -> Run:
        """Start a run of these steps; the rest of the plan and of the request by keyword."""
        plan_keys = {"verify", "onFailure", "limits", "approval"}
        spec = {key: more.pop(key) for key in plan_keys & more.keys()}
        plan = RunPlan.model_validate({"steps": list(steps), **spec})
        values: dict[str, Any] = {"kind": "playbook", "name": "test", "target": str(ZONE_A), **more}
        request = StartRequest(service="chat", plan=plan, pins=self.pins, **values)
        with self.database.transaction() as tx:
            return start_run(tx, request, self.woken.append)

    def settle(self, executor: Executor | None = None) -> None:
        """Deliver every message there is, and those that come of them."""
        worker = executor or self.executor
        for _ in range(1000):
            sweep(self.database, self.woken.append)
            woken = self.woken.take()
            if not woken:
                return
            for run_id in woken:
                worker.advance(run_id)
        msg = "there is always something due"
        raise AssertionError(msg)

    def pass_time(self, seconds: float, step: float = 0.5) -> None:
        """Let time pass, with a sweep at every step."""
        left = seconds
        while left > 0:
            self.clock.advance(min(step, left))
            left -= step
            self.settle()

    def finish(self, run: Run, seconds: float = 600.0, executor: Executor | None = None) -> Run:
        """Go on until the run has ended; fail the test if it does not within ``seconds``."""
        end = self.clock.now() + timedelta(seconds=seconds)
        self.settle(executor)
        while not is_final(self.run(run).state):
            assert self.clock.now() < end, f"{run.id} is still {self.run(run)}"
            self.clock.advance(min(self._idle(), (end - self.clock.now()).total_seconds()))
            self.settle(executor)
        return self.run(run)

    def _idle(self) -> float:
        """Return how long nothing is due, in half seconds: what a sweep at each of them would not find."""
        with self.database.reading() as tx:
            active = tx.runs.list(RunQuery(active=True), limit=1000)
        now = self.clock.now()
        moments = [moment for run in active if (moment := run.lease_until or run.due_at) is not None]
        gap = (min(moments) - now).total_seconds() if moments else 0.0
        return max(0.5, math.ceil(2 * gap) / 2)

    def crash(self, at: int) -> None:
        """Let the next process die at the ``at``-th point."""
        self.arm(Fuse(at))

    def arm(self, fuse: Fuse | None) -> None:
        """Let every commit and every effect pass this fuse."""
        self.platform.fuse = self.database.fuse = self.outbox.fuse = fuse

    def survive(self) -> None:
        """A new process, after the lease of the dead one has run out."""
        self.arm(None)
        self.woken.clear()
        self.clock.advance(LEASE_OVER)
        self.executor = self.new_executor()

    def halt(self, **scope: Any) -> str:
        """Stop automation in a scope, and return the halt's id."""
        with self.database.transaction() as tx:
            values = {"id": new_id("halt"), "reason": "stop it", "by": "ada", "created_at": self.clock.now()}
            return tx.halts.add(Halt(**{**values, **scope})).id

    def lift(self, halt: str) -> None:
        with self.database.transaction() as tx:
            tx.halts.lift(halt)

    def supersede(self, run: Run) -> None:
        with self.database.transaction() as tx:
            supersede_run(tx, run.id, reason="folded", wake=self.woken.append)

    def cancel(self, run: Run, **more: Any) -> None:
        with self.database.transaction() as tx:
            cancel_run(tx, run.id, by="ada", wake=self.woken.append, **more)

    # ── what a test looks at ────────────────────────────────────────────────────────────────────────────────

    def run(self, run: Run | str) -> Run:
        with self.database.reading() as tx:
            return tx.runs.get(run if isinstance(run, str) else run.id)

    def steps(self, run: Run) -> dict[str, StepRecord]:
        with self.database.reading() as tx:
            return {step.id: step for step in tx.steps.list(run.id)}

    def journal(self, run: Run) -> list[JournalLine]:
        with self.database.reading() as tx:
            return tx.journal.list(run.id)

    def events(self, run: Run) -> list[str]:
        return [line.event for line in self.journal(run)]

    def undo(self, run: Run) -> list[UndoView]:
        with self.database.reading() as tx:
            return tx.undo.list(run.id)

    def out_of_service(self) -> set[str]:
        with self.database.reading() as tx:
            return {row.target for row in tx.ledger.list()}

    def weights(self) -> dict[str, int]:
        return self.platform.weights("chat").weights
