"""Tells a person what the loop does while a drill runs: one line for each thing that changed.

It reads the database only, as any other reader could, and remembers how far it has told.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from controlplane.model.records import Run
from controlplane.store.database import Database
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction


class Narrator:
    """Lines about everything that happened after ``since``, each told once, in the order of time."""

    def __init__(self, database: Database, since: datetime) -> None:
        self._database = database
        self._since = since
        self._told: set[tuple[str, str]] = set()

    def news(self) -> list[str]:
        """Return what has happened since the last call."""
        with self._database.reading() as tx:
            found = sorted(
                (line for line in self._lines(tx) if (line[1], line[2]) not in self._told),
                key=lambda line: line[0],
            )
        self._told |= {(who, what) for _, who, what in found}
        return [f"{at.astimezone():%H:%M:%S}  {who}: {what}" for at, who, what in found]

    def _lines(self, tx: Transaction) -> Iterator[tuple[datetime, str, str]]:
        for run in tx.runs.list(RunQuery(created_after=self._since), limit=50):
            who = f"{run.kind} {run.name}"
            yield run.created_at, who, _beginning(run)
            for line in tx.journal.list(run.id):
                yield line.at, who, f"{line.step}: {line.message}" if line.step else line.message
        for incident in tx.incidents.list(limit=50):
            if incident.opened_at < self._since:
                continue
            for change in tx.incidents.timeline(incident.id):
                yield change.at, f"incident {incident.title}", f"{change.state} {change.message}".strip()


def _beginning(run: Run) -> str:
    about = f" for {run.target}" if run.target else ""
    return f"begins{about} ({run.reason or run.trigger})"
