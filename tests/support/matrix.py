"""Every point at which a worker can die or be stopped, for any run: what comes of it is what came without.

The points of a story are all commits, and all effects on the platform and on people, as one
undisturbed run passes them. At each point the story has other ends, one for each of ``WAYS``: the
worker dies and another goes on from the rows; it is stopped for longer than its lease, another ends
the run, and then it goes on as if nothing had happened; all messages on their way are lost; another
worker gets the message in the middle of the turn. The judge is the other side: the platform's own
write log and the messages that people got, beside the rows.

`Story.branches` tells the story once, and forks at each point (`tests.support.branching`).
`Story.disturbed` tells it anew for one point, and `Story.killed_for_good` with a worker in a process
of its own that gets SIGKILL; where both are tried they come to the same.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

from controlplane.act.executor import Executor
from controlplane.model.records import Run
from controlplane.model.states import is_final
from controlplane.store.runs import RunQuery
from tests.support import killing
from tests.support.branching import IN_A_COMMIT, Branches, Outcome, Way
from tests.support.rig import LEASE_OVER, Crash, Fuse, Rig


def _overtake(rig: Rig, run: Run) -> None:
    """Let another worker end the run while the first is stopped for longer than its lease."""
    rig.arm(None)
    rig.clock.advance(LEASE_OVER)
    other, rig.executor = rig.executor, rig.new_executor()
    finish(rig, run)
    rig.executor = other


def _join(rig: Rig, run: Run) -> None:
    """Let another worker get the message too, in the middle of the turn."""
    other = rig.new_executor()
    for each in relatives(rig, run):
        other.advance(each.id)


KILLED = Way("killed", lambda *_: None, share=0.1, dies=True)
OVERTAKEN = Way("overtaken", _overtake, share=0.05, outside=True)
JOINED = Way("joined", _join, share=0.02, outside=True)
FORGOTTEN = Way("forgotten", lambda rig, _: rig.woken.lose(), share=0.02)
WAYS = (KILLED, OVERTAKEN, JOINED, FORGOTTEN)


@dataclass(frozen=True)
class Story:
    """One run to be disturbed. ``ordered``: its effects have one order, whatever is late."""

    name: str
    rig: Callable[[Path], Rig]
    begin: Callable[[Rig], Run]
    ordered: bool = True

    def plain(self, rig: Rig) -> tuple[Outcome, list[str]]:
        """Return how it ends undisturbed, and the points that it passes."""
        run = self.begin(rig)
        fuse = Fuse()
        rig.arm(fuse)
        finish(rig, run)
        rig.arm(None)
        return self.outcome(rig, run), fuse.passed

    def branches(self, rig: Rig, tried: Mapping[int, Sequence[Way]]) -> list[tuple[int, Way, Outcome]]:
        """Return how it ends when at each of these points it is disturbed in each of these ways."""
        run = self.begin(rig)
        told = Branches(rig=rig, run=run, tried=tried, go_on=finish, outcome=self.outcome)
        rig.arm(told)
        try:
            finish(rig, run)
            told.end()
        except BaseException as error:
            told.fail(error)
            raise
        rig.arm(None)
        return told.found

    def told(
        self, rig: Rig, points: Sequence[str], tried: Mapping[Way, Sequence[int]]
    ) -> list[tuple[int, Way, Outcome]]:
        """Return how it ends when at each of these points it is disturbed so, in the fastest way there is.

        Who stands in the middle of a commit holds the database's file, and cannot go on with a copy of it.
        """
        pairs = [(at, way) for way, some in tried.items() for at in some]
        anew = [(at, way) for at, way in pairs if not way.dies and points[at - 1] == IN_A_COMMIT]
        branched: dict[int, list[Way]] = defaultdict(list)
        for at, way in pairs:
            if (at, way) not in anew:
                branched[at].append(way)
        rig.renew()
        found = self.branches(rig, branched)
        for at, way in anew:
            rig.renew()
            found.append((at, way, self.disturbed(rig, at, way)))
        return found

    def disturbed(self, rig: Rig, at: int, way: Way) -> Outcome:
        """Return how it ends when it is disturbed at one point, told from its beginning."""
        run = self.begin(rig)
        struck: list[str] = []

        def strike(point: str) -> None:
            struck.append(point)
            way.befall(rig, run)
            if way.dies:
                raise Crash(point)

        rig.arm(Fuse(at, strike))
        try:
            finish(rig, run)
        except Crash:
            rig.survive()
            finish(rig, run)
        rig.arm(None)
        assert struck, f"nothing befell it at point {at}"
        return self.outcome(rig, run)

    def killed_for_good(self, rig: Rig, at: int) -> Outcome:
        """Return how it ends when the worker is a process of its own that is killed at a point."""
        run = self.begin(rig)
        killing.killed(rig, run, at, finish)
        rig.survive()
        finish(rig, run)
        return self.outcome(rig, run)

    def raced(self, rig: Rig) -> Outcome:
        """Return how it ends when two workers get every message twice, all at the same time."""
        run = self.begin(rig)
        rig.woken.copies = 2
        with Racers(rig) as racers:
            rig.executor = cast("Executor", racers)
            finish(rig, run)
        return self.outcome(rig, run)

    def outcome(self, rig: Rig, run: Run) -> Outcome:
        """Return everything that must not depend on who died where."""
        family = relatives(rig, run)
        names = {each.id: each.name for each in family}

        def mask(text: str) -> str:
            for id_, name in names.items():
                text = text.replace(id_, name)
            return text

        writes = [write for write in rig.platform.writes() if write.by is not None]
        effects = [(mask(write.by.key), write.op, write.target) for write in writes if write.by]
        found: Outcome = {
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


def possible(points: Sequence[str], way: Way) -> list[int]:
    """Return the points at which a worker can be disturbed in this way, from 1."""
    return [at for at, point in enumerate(points, start=1) if not (way.outside and point == IN_A_COMMIT)]


def chosen(story: Story, points: Sequence[str], way: Way, share: float) -> list[int]:
    """Return the points that are tried: all that are possible, or a share drawn from the names."""
    found = possible(points, way)
    if share >= 1:
        return found
    count = max(1, round(len(found) * share))
    return sorted(random.Random(f"{story.name}/{way.name}").sample(found, count))


def differences(expected: Outcome, found: Outcome) -> dict[str, Any]:
    """Return what differs, each as it should be and as it is."""
    return {
        key: (expected.get(key), found.get(key))
        for key in sorted({*expected, *found})
        if expected.get(key) != found.get(key)
    }
