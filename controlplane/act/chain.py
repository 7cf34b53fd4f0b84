"""One commit from effect to effect: the end of a step, the start of the next, the intent of its effect.

What came of a call is not written down at once. The step after it is called first, if all that its
action does before an effect is to look; the transaction that commits the intent of that effect writes
down the end of the step before, then judges, claims and starts this one, and only then is the effect
made. If something stands against the start by then, nothing of that transaction is kept and the call
is dropped: it has only looked. It refuses to change what a crash may cost: what was not written down
is called again with the same keys.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from controlplane.act.ahead import look_ahead
from controlplane.act.calls import CallStep
from controlplane.act.engine import Ahead, Turn, Work
from controlplane.store.transaction import Transaction

Settle = Callable[[Turn], Work | None]
"""Returns the work that is due; None when the run was given back."""


class NotStartedError(BaseException):
    """Ends a call whose step may not start after all. No `Exception`: no action takes it for its own."""


@dataclass(slots=True)
class Unwritten:
    """What came of a piece of work, before it is written down."""

    turn: Turn
    work: Work
    result: Any
    settle: Settle
    ahead: Ahead | None = None
    _begun: Turn | None = None
    """The turn that started the call ahead; its transaction may not have been committed."""
    _tried: bool = False
    """Whether the call ahead came to something that must be written down first."""

    def write(self, tx: Transaction) -> tuple[Turn, Work | None]:
        """Write it down, and return the turn that did, with the work that is due then.

        May be done again after a transaction that was not kept. Raises `Fenced`.
        """
        turn, work = self._write(tx, self.ahead)
        call = self._call
        if call is None or call.outcome is None or not call.starts_as(work):
            return turn, work
        call.context.begin = None
        return turn, call  # it has been called, and only looked

    def go_on(self) -> Unwritten | None:
        """Call what is next; None if its start is not written down: it has had no effect."""
        call = self._call
        if call is None:
            return None
        call.context.begin = self._begin
        try:
            outcome = call.perform()
        except NotStartedError:
            return None
        if self._begun is not None and call.context.has_begun:
            return Unwritten(self._begun, call, outcome, self.settle)
        if not self._tried:
            call.outcome = outcome
        return None

    @property
    def _call(self) -> CallStep | None:
        return None if self.ahead is None else self.ahead.call

    def _write(self, tx: Transaction, ahead: Ahead | None, **values: Any) -> tuple[Turn, Work | None]:
        """``values`` are set on the run."""
        turn = self.turn.after(tx, ahead, **values)
        return turn, self.work.record(turn, self.result) or self.settle(turn)

    def _begin(self, tx: Transaction, **values: Any) -> datetime:
        """Write down the start of the call ahead, after what is before it; returns the end of the lease."""
        self._tried = True
        assert self.ahead is not None, "what begins was called ahead"  # noqa: S101
        ahead = replace(self.ahead, begins="effect_at" in values)
        self._begun, work = self._write(tx, ahead, **values)
        if not self.ahead.call.starts_as(work):
            raise NotStartedError
        self._begun.end()
        return self._begun.run.lease_until or tx.now


def perform(
    turn: Turn, work: Work, settle: Settle, keeping: Callable[[], AbstractContextManager[None]]
) -> Unwritten:
    """Do the work, and go on while the next step starts with an effect; what came last is not written down.

    ``keeping``: keeps the run's lease while a call lasts.
    """
    with keeping():
        done = Unwritten(turn, work, work.perform(), settle)
    while True:
        with keeping():
            done.ahead = look_ahead(done.turn, done.work, done.result)
            then = done.go_on()
        if then is None:
            return done
        done = then
