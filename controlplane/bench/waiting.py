"""What runs cost that wait: the time on a core of controller, worker and Redis, with them and without.

The controller has a fleet in memory and metrics that are never there, so that what is
measured is what the runs cost it, not what watching costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from controlplane.act.start import StartRequest, start_run
from controlplane.bench.parts import SERVE, broker, cpu_seconds, process
from controlplane.kernel.clock import Clock, SystemClock
from controlplane.kernel.errors import Unavailable
from controlplane.model.documents import load_bundle
from controlplane.model.playbook import Playbook
from controlplane.model.service import Service
from controlplane.store.database import Database
from controlplane.store.runs import RunQuery

FILES = [Path(__file__).with_name(name) for name in ("fleet.yaml", "waiting.yaml")]
WITHIN = 120.0
LOOK = 2.0
RESTS = 0.05
"""The share of a core below which a process has come to rest: it is up, and has no message left."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Shares of a core by process: at rest, and while so many runs wait."""

    runs: int
    idle: Mapping[str, float]
    busy: Mapping[str, float]

    @property
    def cost(self) -> float:
        """Return what the runs cost: the share of a core that was not spent without them."""
        return sum(self.busy.values()) - sum(self.idle.values())


def measure(folder: Path, runs: int, seconds: float) -> Waiting:
    """Watch the three processes for so long without and with runs. Raises `Unavailable` when one is gone."""
    clock = SystemClock()
    url = f"sqlite:///{folder / 'waiting.db'}"
    with ExitStack() as stack:
        broker_url, redis = stack.enter_context(broker(folder, clock))
        database = stack.enter_context(closing(Database(url, clock)))
        database.migrate()
        requests = _requests(database)
        pids = {"redis": redis}
        for role, name in (("engine", "worker"), ("controller", "controller")):
            pids[name] = stack.enter_context(process([*SERVE, role, url, broker_url])).pid
        _come_to_rest(pids, clock)
        idle = _shares(pids, seconds, clock)
        _start(database, requests, runs)
        _all_wait(database, clock, runs)
        _come_to_rest(pids, clock)
        return Waiting(runs, idle, _shares(pids, seconds, clock))


def _shares(pids: Mapping[str, int], seconds: float, clock: Clock) -> dict[str, float]:
    """Return the share of a core that each process takes, over so many seconds."""
    try:
        before, began = {name: cpu_seconds(pid) for name, pid in pids.items()}, clock.monotonic()
        clock.sleep(seconds)
        took = clock.monotonic() - began
        return {name: (cpu_seconds(pid) - before[name]) / took for name, pid in pids.items()}
    except OSError as error:
        msg = f"a process has ended: {error}"
        raise Unavailable(msg) from error


def _requests(database: Database) -> list[StartRequest]:
    """Load the documents, and return a request of each playbook that waits."""
    texts = [(file.name, file.read_text()) for file in FILES]
    entries = load_bundle(texts).raise_problems().loaded
    models = [(entry.model, entry.document.file) for entry in entries]
    with database.transaction() as tx:
        pins = {model.kind: tx.documents.put(model) for model, _ in models if not isinstance(model, Playbook)}
    service = next(model for model, _ in models if isinstance(model, Service))
    return [
        StartRequest.of_playbook(model, service, pins, target="chat/local/zone-a", started_by="bench")
        for model, file in models
        if isinstance(model, Playbook) and file == FILES[1].name
    ]


def _start(database: Database, requests: list[StartRequest], runs: int) -> None:
    with database.transaction() as tx:
        for number in range(runs):
            start_run(tx, requests[number % len(requests)])


def _come_to_rest(pids: Mapping[str, int], clock: Clock) -> None:
    """Return when no process has anything left to do at once."""
    deadline = clock.monotonic() + WITHIN
    clock.sleep(LOOK)
    while max(_shares(pids, LOOK, clock).values()) > RESTS:
        if clock.monotonic() > deadline:
            msg = f"a process did not come to rest within {WITHIN:.0f} s"
            raise Unavailable(msg)


def _all_wait(database: Database, clock: Clock, runs: int) -> None:
    """Return when nothing is due any more, and all of the runs are still there."""
    deadline = clock.monotonic() + WITHIN
    while clock.monotonic() < deadline:
        clock.sleep(LOOK)
        with database.reading() as tx:
            due, active = tx.runs.due(resend_after=0.0, limit=1), tx.runs.count(RunQuery(active=True))
        if not due:
            if active != runs:
                msg = f"{runs - active} of {runs} runs have ended, and none should have"
                raise Unavailable(msg)
            return
    msg = f"the runs did not get to wait within {WITHIN:.0f} s"
    raise Unavailable(msg)
