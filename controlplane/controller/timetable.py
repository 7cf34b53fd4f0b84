"""What the clock calls for: each due time of each timed trigger decided on once, whoever leads.

How far a trigger has come is a row, moved in the transaction that starts the run: no
restart or take-over starts it twice or loses it. A trigger begins at its first sight, not
in the past. While guards stand in the way the time stays due, until it lapses or the next
one comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import structlog

from controlplane.controller.cases import Desk, Records
from controlplane.decide import guards
from controlplane.kernel.clock import to_rfc3339
from controlplane.kernel.durations import format_duration
from controlplane.model.playbook import Playbook
from controlplane.model.records import GuardVerdict, Schedule, Verdict
from controlplane.model.target import Target
from controlplane.model.triggers.base import Due, Trigger
from controlplane.store.transaction import Transaction

log = structlog.get_logger(__name__)

DECIDED = {"run", "observed", "notMatched"}
"""Outcomes that are an answer to a due time; the others may change before it lapses."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One timed trigger at one target."""

    playbook: Playbook
    trigger: Trigger
    target: Target

    @property
    def key(self) -> tuple[str, str, str]:
        return self.playbook.name, self.trigger.describe(), str(self.target)


@dataclass(frozen=True, slots=True)
class Timetable:
    """All timed triggers of one service at one tick."""

    desk: Desk

    def is_idle(self, tx: Transaction) -> bool:
        """Tell whether nothing is due, new or gone."""
        rows = self._rows(tx)
        entries = {entry.key: entry for entry in self._entries()}
        return rows.keys() == entries.keys() and not any(
            entry.trigger.due(self.desk.now, rows[key].decided) for key, entry in entries.items()
        )

    def keep(self, tx: Transaction) -> None:
        """Decide on everything that is due, and keep a row for each trigger that there is."""
        rows = self._rows(tx)
        records = self.desk.records(tx)
        for entry in self._entries():
            row = rows.pop(entry.key, None)
            if row is None:
                tx.schedules.put(self._row(entry, self.desk.now))
                continue
            due = entry.trigger.due(self.desk.now, row.decided)
            if due is not None:
                self._decide(tx, entry, row, due, records)
        for row in rows.values():
            tx.schedules.remove(row)

    def _decide(self, tx: Transaction, entry: Entry, row: Schedule, due: Due, records: Records) -> None:
        case = guards.Case(
            entry.playbook,
            entry.trigger.describe(),
            None,
            self.desk.view,
            halts=records.halts,
            runs=records.runs,
            ledger=records.ledger,
            freezes=records.freezes,
            place=str(entry.target),
        )
        if due.lapsed:
            self.desk.record(tx, case, "refused", (_lapsed(due),))
            tx.schedules.put(row.model_copy(update={"decided": due.at}))
            return
        outcome, run = self.desk.settle(tx, case)
        if outcome in DECIDED:
            tx.schedules.put(row.model_copy(update={"decided": due.at, "run": run.id if run else row.run}))
        if run is not None:
            records.runs.insert(0, run)
            log.info("started by the clock", run=run.id, due=to_rfc3339(due.at), late=round(due.late, 1))

    def _entries(self) -> Iterator[Entry]:
        documents, service = self.desk.documents, self.desk.service
        for playbook in sorted(documents.playbooks.values(), key=lambda each: each.name):
            for trigger in playbook.spec.triggers:
                if trigger.timed:
                    for target in trigger.places(service):
                        yield Entry(playbook, trigger, target)

    def _rows(self, tx: Transaction) -> dict[tuple[str, str, str], Schedule]:
        rows = tx.schedules.list(self.desk.service.name)
        return {(row.playbook, row.trigger, row.target): row for row in rows}

    def _row(self, entry: Entry, decided: object) -> Schedule:
        playbook, trigger, target = entry.key
        fields = {"playbook": playbook, "trigger": trigger, "target": target, "decided": decided}
        return Schedule.model_validate({**fields, "service": self.desk.service.name})


def _lapsed(due: Due) -> GuardVerdict:
    text = f"missed: it was due {to_rfc3339(due.at)}, {format_duration(round(due.late))} ago"
    values = {"due": to_rfc3339(due.at), "late": round(due.late, 1)}
    return GuardVerdict(guard="schedule", verdict=Verdict.REFUSE, message=text, values=values)
