"""Steps of runs and the attempts at them. A step's state moves in `controlplane.store.transitions` only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, func, insert, select, update

from controlplane.model.records import AttemptRecord, StepRecord
from controlplane.model.states import StepState
from controlplane.store.tables import attempts, steps
from controlplane.store.unit import Repository


class StepRepository(Repository):
    """``tx.steps``."""

    def add(self, run: str, plan: Sequence[tuple[str, str]]) -> None:
        """Write the steps of a new run, (id, action) each, in their order."""
        rows = [
            {"run": run, "id": id_, "uses": uses, "position": position, "state": StepState.PENDING.value}
            for position, (id_, uses) in enumerate(plan)
        ]
        self.unit.write(insert(steps).values(rows))

    def list(self, run: str) -> list[StepRecord]:
        """List a run's steps in their order."""
        found = select(steps).where(steps.c.run == run).order_by(steps.c.position)
        return [StepRecord.model_validate(row) for row in self.unit.rows(found)]

    def attempts(self, run: str) -> Sequence[AttemptRecord]:
        """List the attempts at a run's steps, oldest first."""
        found = select(attempts).where(attempts.c.run == run)
        rows = self.unit.rows(found.order_by(attempts.c.started_at, attempts.c.step, attempts.c.attempt))
        return [AttemptRecord.model_validate(row) for row in rows]

    def update(self, run: str, step: str, **values: Any) -> None:
        """Change what is remembered of a step beside its state."""
        self.unit.write(update(steps).where(steps.c.run == run, steps.c.id == step).values(**values))

    def begin_attempt(self, run: str, step: str, attempt: int, *, owner: str, fence: int, key: str) -> None:
        """Write down that an attempt begins, before anything is done."""
        row = {"run": run, "step": step, "attempt": attempt, "owner": owner, "fence": fence, "key": key}
        self.unit.write(insert(attempts).values(**row, outcome="running", started_at=self.now))

    def resume_attempt(self, run: str, step: str, attempt: int, *, owner: str, fence: int) -> bool:
        """Write down that an attempt that said `Again` is called once more; False if there is none."""
        change = update(attempts).where(*self._key(run, step, attempt))
        values = {"owner": owner, "fence": fence, "outcome": "running", "effects": 0}
        return self.unit.write(change.values(**values, calls=attempts.c.calls + 1)) > 0

    def count_effect(self, run: str, step: str, attempt: int) -> None:
        """Write down that the latest call is about to change something outside."""
        change = update(attempts).where(*self._key(run, step, attempt))
        self.unit.write(change.values(effects=attempts.c.effects + 1))

    def attempt(self, run: str, step: str, attempt: int) -> AttemptRecord | None:
        row = self.unit.row(select(attempts).where(*self._key(run, step, attempt)))
        return None if row is None else AttemptRecord.model_validate(row)

    def end_attempt(self, run: str, step: str, attempt: int, outcome: str, message: str = "") -> None:
        """Write down what came of it; ``again`` leaves it open."""
        change = update(attempts).where(*self._key(run, step, attempt))
        ended = None if outcome == "again" else self.now
        self.unit.write(change.values(outcome=outcome, message=message, ended_at=ended))

    def count_attempts(self, run: str, step: str, outcome: str) -> int:
        """Count the attempts at a step that came out so."""
        mine = (attempts.c.run == run, attempts.c.step == step, attempts.c.outcome == outcome)
        return int(self.unit.scalar(select(func.count()).select_from(attempts).where(*mine)))

    @staticmethod
    def _key(run: str, step: str, attempt: int) -> tuple[ColumnElement[bool], ...]:
        return (attempts.c.run == run, attempts.c.step == step, attempts.c.attempt == attempt)
