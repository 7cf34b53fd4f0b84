"""Runs that would have been started: they are drawn, last a moment, are taken to have helped, and do nothing.

While an incident is open that one of them answers, the guards count what it would have taken out of
service, as they would have; the record of the fleet stays what it was.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from controlplane.controller.cases import Desk, Outcome, Records
from controlplane.decide import guards
from controlplane.model.action import Touch
from controlplane.model.records import OutOfService, Run
from controlplane.model.states import RunState, StepState, is_final
from controlplane.store.database import Database
from controlplane.store.transaction import Transaction
from controlplane.store.transitions import move

LASTS = timedelta(seconds=guards.WORKED_ON)
"""How long one is taken to be at work: as long as others wait for it."""
WHY = "imagined: nothing is executed in a backtest"


@dataclass(slots=True)
class ImaginedRuns:
    """The runs of one backtest. It is woken as workers would be."""

    database: Database
    _woken: list[str] = field(default_factory=list)
    _at_work: deque[tuple[datetime, str]] = field(default_factory=deque)
    _out: dict[str, tuple[str | None, tuple[OutOfService, ...]]] = field(default_factory=dict)

    def wake(self, run: str) -> None:
        """Note that somebody should look at a run."""
        self._woken.append(run)

    def take_out(self, run: Run, touches: Sequence[Touch], now: datetime) -> None:
        """Note what a run would take out of service."""
        out = tuple(
            OutOfService(
                target=str(touch.target), dimension=touch.dimension, holder=run.id, since=now, reason=WHY
            )
            for touch in touches
            if not touch.returns
        )
        if out:
            self._out[run.id] = (run.incident, out)

    def out_of_service(self, incidents: Collection[str]) -> list[OutOfService]:
        """Return what would be out of service while these incidents are open."""
        self._out = {
            run: (incident, out) for run, (incident, out) in self._out.items() if incident in incidents
        }
        return [row for _, out in self._out.values() for row in out]

    def begin(self, now: datetime) -> None:
        """Let the runs that were woken be at work; one that was told to stop ends."""
        woken, self._woken = list(dict.fromkeys(self._woken)), []
        for run_id in woken:
            with self.database.transaction() as tx:
                run = tx.runs.get(run_id)
                if run.state is RunState.QUEUED:
                    run = move(tx, run, RunState.RUNNING, WHY)
                    self._at_work.append((now + LASTS, run_id))
                if run.stop is not None:
                    _end(tx, run)

    def end(self, now: datetime) -> None:
        """End the runs that have been at work for long enough."""
        while self._at_work and self._at_work[0][0] <= now:
            _, run_id = self._at_work.popleft()
            with self.database.transaction() as tx:
                _end(tx, tx.runs.get(run_id))


def _end(tx: Transaction, run: Run) -> None:
    if is_final(run.state):
        return
    if run.stop is not None:
        state = RunState.SUPERSEDED if run.stop == "supersede" else RunState.CANCELLED
        move(tx, run, state, run.stop_reason)
        return
    for step in tx.steps.list(run.id):
        move(tx, step, StepState.SKIPPED, WHY)
    move(tx, run, RunState.SUCCEEDED, WHY)


@dataclass(frozen=True)
class RecordedDesk(Desk):
    """The loop's desk, with what imagined runs would hold. ``open``: the incidents that are open now."""

    imagined: ImaginedRuns = field(kw_only=True)
    open: frozenset[str] = frozenset()

    def records(self, tx: Transaction) -> Records:
        found = super().records(tx)
        return replace(found, ledger=[*found.ledger, *self.imagined.out_of_service(self.open)])

    def settle(self, tx: Transaction, case: guards.Case) -> tuple[Outcome, Run | None]:
        outcome, run = super().settle(tx, case)
        if run is not None:
            self.imagined.take_out(run, case.touches, self.now)
        return outcome, run
