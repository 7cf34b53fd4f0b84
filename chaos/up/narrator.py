"""Tells a person what the loop does while a drill runs: one line for each thing that changed.

It reads the database only, as any other reader could, and remembers how far it has told.
"""

from __future__ import annotations

from datetime import datetime

from controlplane.model.records import JournalLine
from controlplane.store.database import Database
from controlplane.store.runs import RunQuery


class Narrator:
    """Lines about everything that happened after ``since``, each told once, in the order of time."""

    def __init__(self, database: Database, since: datetime) -> None:
        self._database = database
        self._since = since
        self._told: dict[str, int] = {}

    def news(self) -> list[str]:
        """Return what has happened since the last call."""
        found: list[tuple[datetime, str]] = []
        with self._database.reading() as tx:
            for run in tx.runs.list(RunQuery(created_after=self._since), limit=50):
                about = f" for {run.target}" if run.target else ""
                lines = [(line.at, _sentence(line)) for line in tx.journal.list(run.id)]
                found += self._untold(run.id, f"{run.kind} {run.name}{about}", lines)
            for incident in tx.incidents.list(limit=50):
                if incident.opened_at >= self._since:
                    moves = [
                        (move.at, f"{move.state} {move.message}".strip())
                        for move in tx.incidents.timeline(incident.id)
                    ]
                    found += self._untold(incident.id, f"incident {incident.title}", moves)
        return [f"{at.astimezone():%H:%M:%S}  {text}" for at, text in sorted(found, key=lambda each: each[0])]

    def _untold(self, key: str, who: str, lines: list[tuple[datetime, str]]) -> list[tuple[datetime, str]]:
        told = self._told.get(key, 0)
        self._told[key] = len(lines)
        return [(at, f"{who}: {text}") for at, text in lines[told:]]


def _sentence(line: JournalLine) -> str:
    return f"{line.step}: {line.message}" if line.step else line.message
