"""Steps of runs and the attempts at them. A step's state moves in `controlplane.store.transitions` only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, func, select, update

from controlplane.model.records import AttemptRecord, StepRecord
from controlplane.model.states import StepState
from controlplane.store.tables import attempts, steps
from controlplane.store.unit import Repository

_ATTEMPT = (
    attempts.c.run == bindparam("b_run"),
    attempts.c.step == bindparam("b_step"),
    attempts.c.attempt == bindparam("b_attempt"),
)
_LIST = (
    select(steps)
    .where(steps.c.run == bindparam("b_run"))
    .order_by(steps.c.position, steps.c.item_index.nulls_first())
)
_ATTEMPTS = (
    select(attempts)
    .where(attempts.c.run == bindparam("b_run"))
    .order_by(attempts.c.started_at, attempts.c.step, attempts.c.attempt)
)
_RESUME = (
    update(attempts)
    .where(*_ATTEMPT)
    .values(
        owner=bindparam("b_owner"),
        fence=bindparam("b_fence"),
        outcome="running",
        effects=0,
        calls=attempts.c.calls + 1,
    )
    .returning(attempts.c.message)
)
_END = (
    update(attempts)
    .where(*_ATTEMPT)
    .values(outcome=bindparam("b_outcome"), message=bindparam("b_message"), ended_at=bindparam("b_ended"))
)
_EFFECT = update(attempts).where(*_ATTEMPT).values(effects=attempts.c.effects + 1)
_GET = select(attempts).where(*_ATTEMPT)
_COUNT = (
    select(func.count())
    .select_from(attempts)
    .where(*_ATTEMPT[:2], attempts.c.outcome == bindparam("b_outcome"))
)


class StepRepository(Repository):
    """``tx.steps``."""

    def add(
        self, run: str, plan: Sequence[tuple[str, str]], carried: Mapping[str, StepRecord] | None = None
    ) -> None:
        """Write the steps of a new run, (id, action) each, in their order.

        ``carried``: those that an earlier run has done; they are written as they ended there.
        """
        done = carried or {}
        rows = [
            {"run": run, "id": id_, "uses": uses, "position": position, "state": StepState.PENDING.value}
            for position, (id_, uses) in enumerate(plan)
        ]
        self.unit.add_all(steps, [row for row in rows if row["id"] not in done])
        for row in rows:
            if row["id"] in done:
                ended = done[str(row["id"])].model_dump(by_alias=False)
                self.unit.add(steps, **ended | row | {"state": ended["state"].value})

    def add_items(self, loop: StepRecord, items: Sequence[Any]) -> None:
        """Write a row for each item of a step, each as it was worked out."""
        same = {"run": loop.run, "position": loop.position, "uses": loop.uses}
        rows = [
            {**same, "id": f"{loop.id}[{i}]", "item_index": i, "item": item, "state": StepState.PENDING.value}
            for i, item in enumerate(items)
        ]
        self.unit.add_all(steps, rows)

    def list(self, run: str) -> list[StepRecord]:
        """List a run's steps in their order, each with its items after it."""
        return [StepRecord.model_validate(row) for row in self.unit.rows(_LIST, {"b_run": run})]

    def attempts(self, run: str) -> Sequence[AttemptRecord]:
        """List the attempts at a run's steps, oldest first."""
        return [AttemptRecord.model_validate(row) for row in self.unit.rows(_ATTEMPTS, {"b_run": run})]

    def update(self, run: str, step: str, **values: Any) -> None:
        """Change what is remembered of a step beside its state."""
        self.unit.change(steps, {"run": run, "id": step}, values)

    def begin_attempt(
        self, run: str, step: str, attempt: int, *, owner: str, fence: int, key: str, effects: int = 0
    ) -> None:
        """Write down that an attempt begins, before anything is done; ``effects`` come next."""
        row = {"run": run, "step": step, "attempt": attempt, "owner": owner, "fence": fence, "key": key}
        whole = {"outcome": "running", "message": "", "calls": 1, "effects": effects, "ended_at": None}
        self.unit.add(attempts, **row, **whole, started_at=self.now)

    def resume_attempt(self, run: str, step: str, attempt: int, *, owner: str, fence: int) -> str | None:
        """Write down that an attempt is called once more; returns what it said, None if there is none."""
        who = {"b_owner": owner, "b_fence": fence}
        said: str | None = self.unit.scalar(_RESUME, {**self._key(run, step, attempt), **who})
        return said

    def count_effect(self, run: str, step: str, attempt: int) -> None:
        """Write down that the latest call is about to change something outside."""
        self.unit.write(_EFFECT, self._key(run, step, attempt))

    def attempt(self, run: str, step: str, attempt: int) -> AttemptRecord | None:
        row = self.unit.row(_GET, self._key(run, step, attempt))
        return None if row is None else AttemptRecord.model_validate(row)

    def end_attempt(self, run: str, step: str, attempt: int, outcome: str, message: str = "") -> None:
        """Write down what came of it; ``again`` leaves it open."""
        ended = None if outcome == "again" else self.now
        values = {"b_outcome": outcome, "b_message": message, "b_ended": ended}
        self.unit.write(_END, {**self._key(run, step, attempt), **values})

    def count_attempts(self, run: str, step: str, outcome: str) -> int:
        """Count the attempts at a step that came out so."""
        key = {"b_run": run, "b_step": step, "b_outcome": outcome}
        return int(self.unit.scalar(_COUNT, key))

    @staticmethod
    def _key(run: str, step: str, attempt: int) -> dict[str, Any]:
        return {"b_run": run, "b_step": step, "b_attempt": attempt}
