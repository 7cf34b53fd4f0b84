"""What people do with a run: end it, hold it still, let it go on, do it again, take it back, decide.

Asking twice is asking once. The workers are woken by the next sweep: this process sends no message.
"""

from __future__ import annotations

from fastapi import APIRouter

from controlplane.act.approve import Answer, decide_approval, waiting_approval
from controlplane.act.cancel import cancel_run
from controlplane.act.pause import continue_run, pause_run
from controlplane.act.retry import retry_run
from controlplane.act.take_back import undo_run
from controlplane.api.auth import Caller, Given, Operator
from controlplane.api.problems import SignedOut, responses
from controlplane.api.services import Services
from controlplane.api.views.runs import CancelRequest, DecisionRequest, OperationRequest
from controlplane.kernel.errors import Conflict, NotAllowed, NotFound
from controlplane.model.approval import ApprovalRecord
from controlplane.model.records import Run

router = APIRouter(prefix="/runs/{run_id}", tags=["runs"])

REFUSALS = responses(SignedOut, NotAllowed, NotFound, Conflict)


@router.post("/cancel", responses=REFUSALS)
def cancel(run_id: str, body: CancelRequest, services: Given, who: Operator) -> Run:
    """Ask a run to stop, and to take back what it did unless `undo` is false."""
    with services.database.transaction() as tx:
        return cancel_run(tx, run_id, by=who.name, reason=body.reason, undo=body.undo)


@router.post("/pause", responses=REFUSALS)
def pause(run_id: str, body: OperationRequest, services: Given, who: Operator) -> Run:
    """Keep a run from starting its next step, until somebody lets it go on."""
    with services.database.transaction() as tx:
        return pause_run(tx, run_id, by=who.name, reason=body.reason)


@router.post("/continue", responses=REFUSALS)
def continue_(run_id: str, body: OperationRequest, services: Given, who: Operator) -> Run:
    """Let a paused run go on."""
    with services.database.transaction() as tx:
        return continue_run(tx, run_id, by=who.name, reason=body.reason)


@router.post("/retry", responses=REFUSALS)
def retry(run_id: str, body: OperationRequest, services: Given, who: Operator) -> Run:
    """Start a run that goes on where this one failed, and return it."""
    with services.database.transaction() as tx:
        return retry_run(tx, run_id, by=who.name, reason=body.reason)


@router.post("/undo", responses=REFUSALS)
def undo(run_id: str, body: OperationRequest, services: Given, who: Operator) -> Run:
    """Start a run that takes back what this one did and still stands as it left it, and return it."""
    with services.database.transaction() as tx:
        return undo_run(tx, run_id, by=who.name, reason=body.reason)


@router.post("/approve", responses=REFUSALS)
def approve(run_id: str, body: DecisionRequest, services: Given, who: Operator) -> ApprovalRecord:
    """Let a run that waits for people start, or go on; whoever started it may not."""
    return _decide(services, run_id, body, who, "approved")


@router.post("/reject", responses=REFUSALS)
def reject(run_id: str, body: DecisionRequest, services: Given, who: Operator) -> ApprovalRecord:
    """Refuse what a run asks: it is cancelled, or the step that asks fails."""
    return _decide(services, run_id, body, who, "rejected")


def _decide(
    services: Services, run_id: str, body: DecisionRequest, who: Caller, answer: Answer
) -> ApprovalRecord:
    with services.database.transaction() as tx:
        asked = waiting_approval(tx, run_id, body.approval)
        return decide_approval(tx, asked, answer, by=who.name, role=who.role, comment=body.comment)
