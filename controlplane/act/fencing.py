"""Keeping back what a lost worker may still write.

A worker that is stopped right before a write has lost its lease, and nothing here keeps it from
going on: only the platform can, once it has seen a higher fence. What follows mostly shows it
one by writing; but a run that is cancelled and keeps what it did, a step whose time is over, an
undo that is withheld by now write nothing more. So whoever takes a run over in the middle of a
call shows its fence before it does anything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.act.engine import Next, Parts, Turn, Wait, Work
from controlplane.act.order import is_loop
from controlplane.act.outcomes import backoff_seconds
from controlplane.kernel.errors import Ambiguous, Fenced, FleetwardError, Unavailable
from controlplane.model.playbook import Backoff
from controlplane.model.states import RunState, StepState
from controlplane.model.topology import WriteTag
from controlplane.platforms.port import Platform

TRIES = 5
"""How often the platform is told while it does not answer; a run must end some day all the same."""

BACKOFF = Backoff()
_SHOWN = "fence_shown"
_UNDOING = "undo_fence"
_AGAIN = "fence_again"


def fence_due(turn: Turn) -> Next | None:
    """Return what keeps a lost worker's write back, when there may be one; None otherwise."""
    run = turn.run
    if run.effect_at is None or Platform not in turn.parts.ports:
        return None
    if run.progress.get(_SHOWN) == turn.fence or not _is_in_doubt(turn):
        return None
    tries, again = run.progress.get(_AGAIN, (0, None))
    if again is not None and turn.now < datetime.fromisoformat(again):
        return Wait(datetime.fromisoformat(again), run.waiting)
    key = f"{run.id}/fence/{turn.fence}"
    tag = WriteTag(run=run.id, step="", attempt=0, fence=turn.fence, key=key)
    return ShowFence(turn.parts, run.service, tag, tries + 1)


def undo_begins(turn: Turn) -> None:
    """Remember who undoes: whoever is not its holder, and no regular successor, took over from a lost one."""
    turn.remember(**{_UNDOING: turn.fence})


def undo_rests(turn: Turn) -> None:
    """Remember that the next holder follows a regular release: nothing of this one is on its way."""
    turn.remember(**{_UNDOING: turn.fence + 1})


@dataclass(slots=True)
class ShowFence:
    """Work: show the platform this worker's fence."""

    parts: Parts
    service: str
    tag: WriteTag
    number: int

    def perform(self) -> FleetwardError | None:
        try:
            self.parts.port(Platform).show_fence(self.service, by=self.tag)
        except Fenced:
            raise
        except FleetwardError as error:
            return error
        return None

    def record(self, turn: Turn, result: FleetwardError | None) -> Work | None:
        if isinstance(result, Unavailable | Ambiguous) and self.number < TRIES:
            why = f"cannot keep back yet what a lost worker may still write: {result}"
            seconds = backoff_seconds(BACKOFF, turn.run.id, "fence", self.number)
            turn.remember(**{_AGAIN: (self.number, (turn.now + timedelta(seconds=seconds)).isoformat())})
            turn.update(waiting=why)
            turn.journal("retry", f"{why}; try {self.number + 1} of {TRIES} follows")
            return None
        turn.remember(**{_SHOWN: turn.fence, _AGAIN: (0, None)})
        if result is None:
            turn.journal("fence.shown", "a worker was lost: what it may still write is refused from now on")
        else:
            turn.journal(
                "fence.notShown", f"a lost worker may still write: the platform was not told: {result}"
            )
        return None


def _is_in_doubt(turn: Turn) -> bool:
    """Tell whether somebody before was lost between the begin of an effect and what came of it."""
    run = turn.run
    if run.state is RunState.UNDOING:
        return bool(run.progress.get(_UNDOING, turn.fence) < turn.fence)
    if run.state is not RunState.RUNNING:
        return False
    for step in turn.steps:
        if step.state is StepState.RUNNING and not is_loop(turn.pinned.plan, step):
            cut = turn.tx.steps.attempt(run.id, step.id, step.attempt)
            if cut is not None and cut.effects > 0:
                return True
    return False
