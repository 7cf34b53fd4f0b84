"""Approvals: asked once for a run or a step of it, decided once.

Deciding is one conditional write: of two who decide at the same time, or of one who decides
while the time runs out, one is first. Who may decide is `controlplane.act.approve`'s to say.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import bindparam, select, update

from controlplane.kernel.errors import NotFound
from controlplane.kernel.ids import new_id
from controlplane.model.approval import ApprovalDecision, ApprovalRecord, Question
from controlplane.store.tables import approvals
from controlplane.store.unit import Repository, Row

_RUN = ""
"""What stands for "the run itself" in the column of the step, so that one of each is unique."""

_ONE = select(approvals).where(approvals.c.run == bindparam("b_run"), approvals.c.step == bindparam("b_step"))
_OF_RUN = select(approvals).where(approvals.c.run == bindparam("b_run")).order_by(approvals.c.requested_at)
_WAITING = _OF_RUN.where(approvals.c.decision.is_(None))


class ApprovalRepository(Repository):
    """``tx.approvals``."""

    def ask(self, run: str, step: str | None, question: Question, preview: dict[str, Any]) -> ApprovalRecord:
        """Write down what is asked; returns what is there when it was asked before."""
        found = self.of(run, step)
        if found is not None:
            return found
        made = ApprovalRecord(
            id=new_id("apr"),
            run=run,
            step=step,
            text=question.text,
            roles=question.roles,
            on_timeout=question.on_timeout,
            requested_at=self.now,
            expires_at=self.now + timedelta(seconds=question.timeout),
            preview=preview,
        )
        values = made.model_dump(by_alias=False) | {"step": step or _RUN}
        self.unit.add(approvals, **values | {"roles": [role.value for role in question.roles]})
        self._tell(made)
        return made

    def of(self, run: str, step: str | None) -> ApprovalRecord | None:
        """Return what was asked for a run itself, or for one of its steps."""
        row = self.unit.row(_ONE, {"b_run": run, "b_step": step or _RUN})
        return None if row is None else _record(row)

    def get(self, approval_id: str) -> ApprovalRecord:
        row = self.unit.row(select(approvals).where(approvals.c.id == approval_id))
        if row is None:
            msg = f"no approval `{approval_id}`"
            raise NotFound(msg)
        return _record(row)

    def list(self, *, run: str | None = None, waiting: bool = False) -> list[ApprovalRecord]:
        """List approvals, oldest first; ``waiting``: only those that are not decided."""
        if run is not None:
            rows = self.unit.rows(_WAITING if waiting else _OF_RUN, {"b_run": run})
        else:
            found = select(approvals).order_by(approvals.c.requested_at)
            rows = self.unit.rows(found.where(approvals.c.decision.is_(None)) if waiting else found)
        return [_record(row) for row in rows]

    def decide(
        self, approval: ApprovalRecord, decision: ApprovalDecision, by: str, comment: str = ""
    ) -> bool:
        """Decide what is not decided yet; False when somebody was first."""
        mine = update(approvals).where(approvals.c.id == approval.id, approvals.c.decision.is_(None))
        values = {"decision": decision, "decided_by": by, "comment": comment, "decided_at": self.now}
        if self.unit.write(mine.values(**values)) == 0:
            return False
        self._tell(approval)
        return True

    def withdraw(self, run: str, why: str) -> None:
        """Nobody decides for a run that has ended."""
        for row in self.unit.rows(_WAITING, {"b_run": run}):
            self.decide(_record(row), "withdrawn", "", why)

    def _tell(self, approval: ApprovalRecord) -> None:
        self.unit.emit("approval", approval.id)
        self.unit.emit("run", approval.run)


def _record(row: Row) -> ApprovalRecord:
    return ApprovalRecord.model_validate({**row, "step": row["step"] or None})
