"""Asking people, and what they decide: before a run starts, and in the middle of one.

Nobody approves what they started themselves. A decision is made once, is written into the
run's journal and among the decisions, and wakes the run. What was approved is still judged
by every guard when its steps start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from controlplane.kernel.errors import Conflict, NotAllowed
from controlplane.kernel.ids import new_id
from controlplane.model.approval import ApprovalRecord, Question
from controlplane.model.identity import Role, same_person
from controlplane.model.records import Decision, GuardVerdict, Run, Verdict
from controlplane.model.states import is_final
from controlplane.store.database import Database
from controlplane.store.transaction import Transaction

Answer = Literal["approved", "rejected"]


def decide_approval(
    tx: Transaction,
    approval_id: str,
    answer: Answer,
    *,
    by: str,
    role: Role,
    comment: str = "",
    wake: Callable[[str], None] | None = None,
) -> ApprovalRecord:
    """Decide what waits, in somebody's name; the same person saying the same again changes nothing.

    Raises `NotFound`; `Conflict` when it is decided, or its time is over; `NotAllowed` for a
    role that was not asked, and for whoever started the run when they approve.
    """
    approval = tx.approvals.get(approval_id)
    run = tx.runs.get(approval.run)
    if (approval.decision, approval.decided_by) == (answer, by):
        return approval
    _check(tx, approval, run, answer, by, role)
    if not tx.approvals.decide(approval, answer, by, comment):
        raise Conflict(f"somebody else has just decided {approval_id}")
    write_down(tx, approval, run, answer, by, comment)
    if approval.step is not None:
        tx.steps.update(run.id, approval.step, due_at=tx.now)
    tx.runs.want(run.id)
    if wake is not None:
        tx.runs.mark_sent([run.id])
        tx.after_commit(lambda: wake(run.id))
    return tx.approvals.get(approval_id)


def waiting_approval(tx: Transaction, run_id: str, approval_id: str | None = None) -> str:
    """Return the approval that a run waits for; `Conflict` when there is none, or more than one."""
    tx.runs.get(run_id)
    asked = tx.approvals.list(run=run_id)
    if approval_id is not None:
        if approval_id not in {each.id for each in asked}:
            raise Conflict(f"{run_id} does not ask for {approval_id}")
        return approval_id
    waiting = [each.id for each in asked if each.decision is None]
    if len(waiting) > 1:
        raise Conflict(f"{run_id} waits for {len(waiting)} decisions", hint="name one: " + ", ".join(waiting))
    if not waiting and not asked:
        raise Conflict(f"{run_id} waits for nobody's decision")
    return waiting[0] if waiting else asked[-1].id


def expire(tx: Transaction, approval: ApprovalRecord, run: Run) -> ApprovalRecord:
    """Decide what nobody has decided in time, as it says itself; returns it as it is now."""
    if approval.decision is None and tx.now >= approval.expires_at:
        answer: Answer = "approved" if approval.on_timeout == "allow" else "rejected"
        why = f"nobody decided in time: {approval.on_timeout}"
        if tx.approvals.decide(approval, answer, "timeout", why):
            write_down(tx, approval, run, answer, "timeout", why)
        return tx.approvals.get(approval.id)
    return approval


def write_down(
    tx: Transaction, approval: ApprovalRecord, run: Run, answer: Answer, by: str, comment: str
) -> None:
    """Write a decision into the run's journal, and among the decisions with the guards it started by."""
    words = f"{answer} by {by}" + (f": {comment}" if comment else "")
    tx.journal.write(
        run.id, f"approval.{answer}", words, step=approval.step, approval=approval.id, by=by, comment=comment
    )
    earlier = tx.decisions.list(run=run.id, limit=1)
    guards = tuple(each for each in earlier[0].guards if each.guard != "approval") if earlier else ()
    verdict = Verdict.ALLOW if answer == "approved" else Verdict.REFUSE
    values = {"approval": approval.id, "by": by, "step": approval.step, "roles": list(approval.roles)}
    said = GuardVerdict(guard="approval", verdict=verdict, message=words, values=values)
    tx.decisions.record(
        Decision(
            id=new_id("dec"),
            at=tx.now,
            last_at=tx.now,
            playbook=run.name,
            trigger=run.trigger,
            signal=run.signal,
            incident=run.incident,
            target=run.target or run.service,
            outcome="run" if answer == "approved" else "refused",
            run=run.id,
            guards=(*guards, said),
            values=earlier[0].values if earlier else {},
        )
    )


def requested(tx: Transaction, approval: ApprovalRecord) -> None:
    """Write into the journal what is asked, of whom and until when."""
    roles = " or ".join(approval.roles)
    message = f"asks {roles} until {approval.expires_at:%H:%M:%S}: {approval.text}"
    data = {"approval": approval.id, "roles": list(approval.roles)}
    tx.journal.write(approval.run, "approval.requested", message, step=approval.step, **data)


class StoreApprovals:
    """Implements `controlplane.model.approval.Approvals`. Each call is a transaction of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ask(self, run: str, step: str, question: Question) -> ApprovalRecord:
        with self._database.transaction() as tx:
            found = tx.approvals.of(run, step)
            if found is None:
                found = tx.approvals.ask(run, step, question, {})
                requested(tx, found)
            return expire(tx, found, tx.runs.get(run))


def _check(tx: Transaction, approval: ApprovalRecord, run: Run, answer: Answer, by: str, role: Role) -> None:
    if not any(role.covers(each) for each in approval.roles):
        asked = " or ".join(approval.roles)
        raise NotAllowed(f"{approval.id} asks {asked}; {by} is {role}")
    if answer == "approved" and same_person(by, run.started_by):
        raise NotAllowed(f"{by} started {run.id}, and somebody else must approve it")
    if approval.decision is not None:
        when = approval.decided_at or tx.now
        raise Conflict(f"{approval.id} was {approval.decision} by {approval.decided_by} at {when:%H:%M:%S}")
    if is_final(run.state):
        raise Conflict(f"{run.id} has ended: {run.state}")
    if tx.now >= approval.expires_at:
        raise Conflict(f"the time to decide {approval.id} was over at {approval.expires_at:%H:%M:%S}")
