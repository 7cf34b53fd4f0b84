"""A story told once, with a branch at each point: a process of its own in which something else happens there.

The branch is forked right before or after the commit or the effect, with everything in memory as it is
at that point, and goes on with a copy of the database's files as they are then: what was not committed
is not in them. So what a crash leaves is what a killed process leaves: no handler runs, nothing is
closed. The parent waits for the branch's outcome, and tells its own story to the end. One process at a
time does something.
"""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from controlplane.model.records import Run
from tests.support.rig import Fuse, Rig

Outcome = dict[str, Any]

IN_A_COMMIT = "before a commit"
"""Here a stopped worker holds the database itself: nobody else can go on, so nobody overtakes it."""


@dataclass(frozen=True)
class Way:
    """One way to disturb a worker: ``befall`` is what happens while it stands still at a point.

    ``dies``: it does not go on after that. ``outside``: somebody else uses the database meanwhile, so
    it does not stand in the middle of a commit. ``share`` of the points are tried in an ordinary run.
    """

    name: str
    befall: Callable[[Rig, Run], None]
    share: float
    dies: bool = False
    outside: bool = False


@dataclass
class Branches(Fuse):
    """Counts the points of a story, and branches at those that are to be tried.

    ``go_on`` drives the run to its end; ``outcome`` says how it ended.
    """

    rig: Rig = field(kw_only=True)
    run: Run = field(kw_only=True)
    tried: Mapping[int, Sequence[Way]] = field(kw_only=True)
    go_on: Callable[[Rig, Run], None] = field(kw_only=True)
    outcome: Callable[[Rig, Run], Outcome] = field(kw_only=True)
    found: list[tuple[int, Way, Outcome]] = field(default_factory=list)
    _told_to: int | None = None

    def pass_(self, point: str) -> None:
        self.passed.append(point)
        at = len(self.passed)
        for way in self.tried.get(at, ()):
            assert way.dies or point != IN_A_COMMIT, "the copy of the file would not have what is committed"
            if self._told_to is None and self._is_branch(at, way):
                self._disturb(way)

    def end(self) -> None:
        """Tell the parent how this branch has ended; in the parent nothing happens."""
        if self._told_to is not None:
            self._exit(self.outcome(self.rig, self.run))

    def fail(self, error: BaseException) -> None:
        """Tell the parent that this branch broke; in the parent nothing happens."""
        if self._told_to is not None:
            self._exit({"broke": f"{type(error).__name__}: {error}"})

    def _is_branch(self, at: int, way: Way) -> bool:
        """Fork; True in the branch. In the parent it returns when the branch has told its outcome."""
        ours, theirs = os.pipe()
        folder = self.rig.folder / f"branch-{at}-{way.name}"
        pid = os.fork()
        if pid == 0:
            os.close(ours)
            self._told_to = theirs
            self.rig.part(folder)
            return True
        os.close(theirs)
        with os.fdopen(ours, "rb") as wire:
            told = wire.read()
        os.waitpid(pid, 0)
        shutil.rmtree(folder, ignore_errors=True)
        self.found.append((at, way, pickle.loads(told) if told else {"broke": "it said nothing"}))
        return False

    def _disturb(self, way: Way) -> None:
        try:
            self.rig.arm(None)
            way.befall(self.rig, self.run)
            if way.dies:
                self.rig.survive()
                self.go_on(self.rig, self.run)
                self.end()
        except BaseException as error:  # noqa: BLE001 - the engine around it would take it for its own
            self.fail(error)

    def _exit(self, outcome: Outcome) -> NoReturn:
        assert self._told_to is not None
        with os.fdopen(self._told_to, "wb") as wire:
            pickle.dump(outcome, wire)
        os._exit(0)
