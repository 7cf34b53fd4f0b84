"""How the objectives of one service stand, kept between ticks: slices of time, error budgets, what is shown.

Budgets are written down now and then: what a crash loses of them is counted again, from the windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from controlplane.decide.budgets import SNAPSHOT, BudgetBook, Tallies
from controlplane.decide.objectives import statuses
from controlplane.model.objectives import OBJECTIVES, ObjectivesSnapshot
from controlplane.model.service import Service
from controlplane.model.signals import Verdict
from controlplane.model.slo import Slo
from controlplane.model.target import Target
from controlplane.observe.measures import Measures
from controlplane.observe.slices import SliceBook
from controlplane.store.database import Database
from controlplane.store.transaction import Transaction

SAVED_EVERY = 30.0
SHOWN_EVERY = 10.0
"""Seconds between two times that the budgets are written down, and that people are shown how all stand."""


@dataclass(slots=True)
class Standing:
    """One loop owns it."""

    service: Service
    database: Database
    measures: Measures
    slices: SliceBook = field(default_factory=SliceBook)
    book: BudgetBook | None = None
    saved_at: datetime | None = None
    shown_at: datetime | None = None

    def count(
        self, slos: Sequence[Slo], targets: Sequence[Target], at: datetime, *, warming: bool
    ) -> dict[tuple[str, Target], float]:
        """Count what budgets are made of; return what is left of each, as far as it is known.

        While the windows are ``warming`` what was written down stands: what happened since is not all known.
        """
        if self.book is None:
            with self.database.reading() as tx:
                body = tx.snapshots.get(SNAPSHOT, service=self.service.name)
            self.book = BudgetBook(Tallies.model_validate(body or {}))
        target, moment = self.service.target, at.timestamp()
        if warming:
            self.book.hold(slos, target)
        else:
            self.slices.keep(slos, targets, self.measures, moment)
            self.book.count(slos, target, self.measures, moment)
        return {(name, target): share for name, share in self.book.all_left().items()}

    def leave(
        self, tx: Transaction, slos: Sequence[Slo], verdicts: Sequence[Verdict], at: datetime, now: datetime
    ) -> None:
        """Write down what is due: budgets for the next leader, how all stand for people."""
        if self.book is None:
            return
        name = self.service.name
        if _is_due(self.saved_at, SAVED_EVERY, now):
            body = self.book.written().model_dump(mode="json", by_alias=True)
            tx.snapshots.put(SNAPSHOT, body, service=name, at=now)
            self.saved_at = now
        if _is_due(self.shown_at, SHOWN_EVERY, now):
            shown = ObjectivesSnapshot(
                at=now,
                evaluated_at=at,
                objectives=statuses(slos, verdicts, self.measures, self.book, at),
            )
            body = shown.model_dump(mode="json", by_alias=True)
            tx.snapshots.put(OBJECTIVES, body, service=name, at=now)
            self.shown_at = now


def _is_due(last: datetime | None, every: float, now: datetime) -> bool:
    return last is None or (now - last).total_seconds() >= every
