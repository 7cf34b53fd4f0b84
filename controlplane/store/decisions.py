"""Decisions, also those not to act. The same one again within five minutes is counted, not repeated."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Select, bindparam, delete, func, select

from controlplane.kernel.errors import NotFound
from controlplane.model.records import Decision
from controlplane.store.columns import dump_json
from controlplane.store.tables import decisions
from controlplane.store.unit import Repository, given, matching

COALESCE_SECONDS = 300.0

_SAME = (
    select(decisions)
    .where(decisions.c.sameness == bindparam("b_sameness"))
    .order_by(decisions.c.at.desc())
    .limit(1)
)
_GET = select(decisions).where(decisions.c.id == bindparam("b_id"))


class DecisionRepository(Repository):
    """``tx.decisions``."""

    def record(self, decision: Decision) -> Decision:
        """Write a decision, or count it on the row that already says the same; returns that row.

        The same is: playbook, trigger, signal, incident, target, outcome, run, and every guard's verdict.
        The values they were made on stay those of the first.
        """
        sameness = _sameness(decision)
        row = self.unit.row(_SAME, {"b_sameness": sameness})
        if row is not None and decision.at - row["at"] < timedelta(seconds=COALESCE_SECONDS):
            change = {"count": row["count"] + 1, "last_at": decision.last_at}
            self.unit.change(decisions, {"id": row["id"]}, change)
            return Decision.model_validate({**row, **change})
        values = decision.model_dump(by_alias=False)
        values["guards"] = [guard.model_dump(mode="json", by_alias=False) for guard in decision.guards]
        self.unit.add(decisions, **values, sameness=sameness)
        self.unit.emit("decision", decision.id)
        return decision

    def add_value(self, decision_id: str, name: str, value: Any) -> None:
        """Add to the values of a decision what was found out after it was made."""
        values = {**self.get(decision_id).values, name: value}
        self.unit.change(decisions, {"id": decision_id}, {"values": values})
        self.unit.emit("decision", decision_id)

    def get(self, decision_id: str) -> Decision:
        row = self.unit.row(_GET, {"b_id": decision_id})
        if row is None:
            msg = f"no decision `{decision_id}`"
            raise NotFound(msg)
        return Decision.model_validate(row)

    def list(self, *, limit: int = 100, **which: str | None) -> list[Decision]:
        """List decisions, newest first; ``which``: target, incident, run, playbook, trigger, outcome."""
        names, params = given(which)
        rows = self.unit.rows(_list(names), {**params, "b_limit": limit})
        return [Decision.model_validate(row) for row in rows]

    def count(self, **which: str | None) -> int:
        """Count what `list` would list without a limit."""
        names, params = given(which)
        return int(self.unit.scalar(_count(names), params))

    def prune(self, before: datetime) -> int:
        """Delete decisions that were last made before that time."""
        return self.unit.write(delete(decisions).where(decisions.c.last_at < before))


@cache
def _list(names: frozenset[str]) -> Select[Any]:
    found = select(decisions).where(*matching(decisions, names))
    return found.order_by(decisions.c.last_at.desc(), decisions.c.id.desc()).limit(bindparam("b_limit"))


@cache
def _count(names: frozenset[str]) -> Select[Any]:
    return select(func.count()).select_from(decisions).where(*matching(decisions, names))


def _sameness(decision: Decision) -> str:
    told = decision.model_dump(
        include={"playbook", "trigger", "signal", "incident", "target", "outcome", "run"}, mode="json"
    )
    guards = [[guard.guard, guard.verdict.value] for guard in decision.guards]
    return hashlib.sha256(dump_json([told, guards]).encode()).hexdigest()
