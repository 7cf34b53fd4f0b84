"""Measuring both workers, in turns. Messages are queued before a worker starts: none waits for a sender.

A machine that others use is not as fast in one minute as in the next. So each round measures both, one
right after the other, and what counts is the middle one of the rounds' shares. What a process does once,
when it starts, is not counted: both are timed from when a tenth of their work is done.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from controlplane.act.start import StartRequest, start_run
from controlplane.bench.parts import SERVE, broker, process
from controlplane.carrier import Sender
from controlplane.kernel.clock import Clock, SystemClock
from controlplane.kernel.errors import Unavailable
from controlplane.model.documents import load_bundle
from controlplane.model.playbook import Playbook
from controlplane.model.records import Run
from controlplane.model.service import Service
from controlplane.model.states import RunState, is_final
from controlplane.store.database import Database
from controlplane.store.runs import RunQuery

FLEET = Path(__file__).with_name("fleet.yaml")
WITHIN = 300.0


@dataclass(frozen=True, slots=True)
class Throughput:
    """Of one round: steps a second and a message of the engine, no-op tasks a second of its peer."""

    steps: float
    steps_per_message: float
    noops: float

    @property
    def share(self) -> float:
        return self.steps / self.noops


def measure(folder: Path, runs: int, noops: int, rounds: int) -> list[Throughput]:
    """Run both on one broker in each round, and return the rounds by their shares.

    Raises `Unavailable` when a worker does not come to an end.
    """
    clock, found = SystemClock(), []
    for number in range(rounds):
        with broker(folder, clock) as (url, _):
            bare = _bare(url, noops)
            steps, messages, seconds = _engine(folder / f"bench-{number}.db", url, runs, clock)
        found.append(Throughput(steps / seconds, steps / messages, bare))
    return sorted(found, key=lambda each: each.share)


def _bare(url: str, count: int) -> float:
    with closing(Sender(url)) as send:
        for number in range(count):
            send(str(number))
    with process([*SERVE, "nothing", url, str(count)]) as worker:
        assert worker.stdout is not None  # noqa: S101 - it is a pipe
        return (count - count // 10 - 1) / float(worker.stdout.readline())


def _engine(file: Path, url: str, count: int, clock: Clock) -> tuple[int, int, float]:
    """Return how many steps were done with how many messages, and in how many seconds."""
    database = Database(f"sqlite:///{file}", clock)
    with closing(database):
        database.migrate()
        with closing(Sender(url)) as send:
            ids = _start(database, send, count)
        with process([*SERVE, "engine", f"sqlite:///{file}", url]):
            runs = _ended(database, clock)
        with database.reading() as tx:
            steps = {run: len(tx.steps.list(run)) for run in ids}
    wrong = [run for run in runs if run.state is not RunState.SUCCEEDED]
    if wrong:
        msg = f"{len(wrong)} of {count} runs did not succeed: {wrong[0].reason}"
        raise Unavailable(msg)
    ended = sorted((run.ended_at, run.id, run.fence) for run in runs if run.ended_at)
    began, counted = ended[count // 10][0], ended[count // 10 + 1 :]
    done = sum(steps[run] for _, run, _ in counted)
    return done, sum(fence for *_, fence in counted), (ended[-1][0] - began).total_seconds()


def _start(database: Database, send: Sender, count: int) -> list[str]:
    models = [entry.model for entry in load_bundle([(FLEET.name, FLEET.read_text())]).raise_problems().loaded]
    with database.transaction() as tx:
        pins = {model.kind: tx.documents.put(model) for model in models}
    playbook = next(model for model in models if isinstance(model, Playbook))
    service = next(model for model in models if isinstance(model, Service))
    ids = []
    for number in range(count):
        target = f"chat/local/{service.zones[number % len(service.zones)]}"
        request = StartRequest.of_playbook(playbook, service, pins, target=target, started_by="bench")
        with database.transaction() as tx:
            ids.append(start_run(tx, request, send).id)
    return ids


def _ended(database: Database, clock: Clock) -> list[Run]:
    deadline = clock.monotonic() + WITHIN
    while clock.monotonic() < deadline:
        with database.reading() as tx:
            if not tx.runs.list(RunQuery(active=True), limit=1):
                return [run for run in tx.runs.list(RunQuery(), limit=100_000) if is_final(run.state)]
        clock.sleep(0.5)
    msg = f"the runs did not end within {WITHIN:.0f} s"
    raise Unavailable(msg)
