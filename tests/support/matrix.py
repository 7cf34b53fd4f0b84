"""Every point at which a worker can die or be stopped, for any run: what comes of it is what came without.

The points of a story are all commits, and all effects on the platform and on people, as one
undisturbed run passes them. Then the story is told again for each point, disturbed there in one of
these ways: the worker dies (a crash that nothing catches, or SIGKILL to a process of its own) and
another goes on from the rows; it is stopped for longer than its lease, another ends the run, and
then it goes on as if nothing had happened; all messages on their way are lost; another worker gets
the message in the middle of the turn. The judge is the other side: the platform's own write log and
the messages that people got, beside the rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

from controlplane.act.executor import Executor
from controlplane.model.records import Run
from controlplane.model.states import is_final
from controlplane.store.runs import RunQuery
from tests.support import killing
from tests.support.rig import LEASE_OVER, Crash, Fuse, Rig

IN_A_COMMIT = "before a commit"
"""Here a stopped worker holds the database itself: nobody else can go on, so nobody overtakes it."""


@dataclass(frozen=True)
class Story:
    """One run to be disturbed. ``ordered``: its effects have one order, whatever is late."""

    name: str
    rig: Callable[[Path], Rig]
    begin: Callable[[Rig], Run]
    ordered: bool = True

    def plain(self, rig: Rig) -> tuple[dict[str, Any], list[str]]:
        """Return how it ends undisturbed, and the points that it passes."""
        run = self.begin(rig)
        fuse = Fuse()
        rig.arm(fuse)
        finish(rig, run)
        rig.arm(None)
        return self.outcome(rig, run), fuse.passed

    def killed(self, rig: Rig, at: int) -> dict[str, Any]:
        """Return how it ends when the worker dies at a point."""
        run = self.begin(rig)
        rig.crash(at)
        try:
            finish(rig, run)
        except Crash:
            rig.survive()
        else:
            msg = f"nobody died at point {at}"
            raise AssertionError(msg)
        finish(rig, run)
        return self.outcome(rig, run)

    def overtaken(self, rig: Rig, at: int) -> dict[str, Any]:
        """Return how it ends when the worker is stopped at a point, overtaken, and goes on."""
        run = self.begin(rig)

        def overtake(point: str) -> None:
            rig.arm(None)
            rig.clock.advance(LEASE_OVER)
            other, rig.executor = rig.executor, rig.new_executor()
            finish(rig, run)
            rig.executor = other

        rig.arm(Fuse(at, overtake))
        finish(rig, run)
        return self.outcome(rig, run)

    def killed_for_good(self, rig: Rig, at: int) -> dict[str, Any]:
        """Return how it ends when the worker is a process of its own that is killed at a point."""
        run = self.begin(rig)
        killing.killed(rig, run, at, finish)
        rig.survive()
        finish(rig, run)
        return self.outcome(rig, run)

    def forgotten(self, rig: Rig, at: int) -> dict[str, Any]:
        """Return how it ends when at a point all messages are lost, and their carrier is away."""
        run = self.begin(rig)
        rig.arm(Fuse(at, lambda _: rig.woken.lose()))
        finish(rig, run)
        rig.arm(None)
        return self.outcome(rig, run)

    def joined(self, rig: Rig, at: int) -> dict[str, Any]:
        """Return how it ends when another worker gets the message too at a point, in the middle of a turn."""
        run = self.begin(rig)
        other = rig.new_executor()

        def join(point: str) -> None:
            for each in relatives(rig, run):
                other.advance(each.id)

        rig.arm(Fuse(at, join))
        finish(rig, run)
        rig.arm(None)
        return self.outcome(rig, run)

    def raced(self, rig: Rig) -> dict[str, Any]:
        """Return how it ends when two workers get every message twice, all at the same time."""
        run = self.begin(rig)
        rig.woken.copies = 2
        with Racers(rig) as racers:
            rig.executor = cast("Executor", racers)
            finish(rig, run)
        return self.outcome(rig, run)

    def outcome(self, rig: Rig, run: Run) -> dict[str, Any]:
        """Return everything that must not depend on who died where."""
        family = relatives(rig, run)
        names = {each.id: each.name for each in family}

        def mask(text: str) -> str:
            for id_, name in names.items():
                text = text.replace(id_, name)
            return text

        writes = [write for write in rig.platform.writes() if write.by is not None]
        effects = [(mask(write.by.key), write.op, write.target) for write in writes if write.by]
        found: dict[str, Any] = {
            "effects": effects if self.ordered else sorted(effects),
            "messages": list(dict.fromkeys(mask(sent[3]) for sent in rig.outbox.sent)),
            "weights": rig.weights(),
            "refused": rig.platform.admission("chat").shed,
            "replicas": sorted(view.name for _, view in rig.platform.topology("chat").replicas()),
            "ledger": sorted(rig.out_of_service()),
        }
        if self.ordered:
            found["values"] = [(write.before, write.after) for write in writes if write.op == "weights"]
        for each in family:
            found[each.name] = _rows(rig, each)
        return found


class Racers:
    """Two workers, each in a thread of its own, that get each message at the same time."""

    def __init__(self, rig: Rig) -> None:
        self._workers = [rig.new_executor(), rig.new_executor()]
        self._pool = ThreadPoolExecutor(2)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def advance(self, run_id: str) -> None:
        list(self._pool.map(lambda worker: worker.advance(run_id), self._workers))


def finish(rig: Rig, run: Run) -> None:
    """Go on until the run, and all that follow from it, have ended."""
    rig.finish(run)
    while open_ := [each for each in relatives(rig, run) if not is_final(each.state)]:
        rig.finish(open_[0])


def relatives(rig: Rig, run: Run) -> list[Run]:
    """Return the run and those that its failure started, in their order."""
    with rig.database.reading() as tx:
        later = tx.runs.list(RunQuery(trigger="escalation"), limit=1000)[::-1]
        found = [tx.runs.get(run.id)]
    for each in later:
        if each.cause in {known.id for known in found}:
            found.append(each)
    return found


def _rows(rig: Rig, run: Run) -> dict[str, Any]:
    steps = rig.steps(run)
    undo = [(v.step, v.target, v.field, v.before, v.status) for v in rig.undo(run)]
    return {
        "state": run.state,
        "steps": {id_: (step.state, step.item, sorted(step.outputs)) for id_, step in steps.items()},
        "undo": sorted(undo, key=str),
        "undone": run.result.get("undo"),
        "escalated": [each["outcome"] for each in run.result.get("escalated", ())],
    }


def chosen(story: Story, points: Sequence[str], share: float, *, outside: bool = False) -> list[int]:
    """Return the points that are tried, from 1: all of them, or a share drawn from the story's name.

    ``outside``: only those at which somebody else can use the database.
    """
    possible = [at for at, point in enumerate(points, start=1) if not (outside and point == IN_A_COMMIT)]
    if share >= 1:
        return possible
    count = max(1, round(len(possible) * share))
    return sorted(random.Random(story.name).sample(possible, count))


def differences(expected: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Return what differs, each as it should be and as it is."""
    return {
        key: (expected.get(key), found.get(key))
        for key in sorted({*expected, *found})
        if expected.get(key) != found.get(key)
    }
