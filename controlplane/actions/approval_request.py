"""`approval.request`: a step that waits for a person in the middle of a playbook."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from controlplane.kernel.durations import format_duration
from controlplane.model.action import Action, ActionContext, Reach
from controlplane.model.approval import Approvals, Question
from controlplane.model.base import Duration, Model
from controlplane.model.identity import Role
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome

LOOK_SECONDS = 600.0
"""How often it looks, beside being woken by the decision."""


class ApprovalParameters(Model):
    """Parameters of `approval.request`."""

    text: str = Field(min_length=1, max_length=1000, description="what is to be decided, in a sentence")
    roles: tuple[Literal["operator", "approver", "admin"], ...] = Field(
        ("approver",), min_length=1, description="who may decide; each role may do all that a lesser one may"
    )
    timeout: Duration = Field(
        240.0, description="how long it waits; less than the step's own `timeout`", validate_default=False
    )
    on_timeout: Literal["deny", "allow"] = Field(
        "deny", description="what it comes to when nobody decides in time"
    )


class ApprovalRequest(Action[ApprovalParameters]):
    """Ask people, and wait for what they decide. No worker is held meanwhile.

    It is decided by `fleetward runs approve` and `reject`, by the API or in the console, by anybody
    whose role is asked, except by whoever started the run. Approved, the step is done; rejected, it
    fails. The step's own `timeout` must be longer than that of the question.

    ```yaml
    uses: approval.request
    with: {text: "give zone-a its users back?", roles: [approver], timeout: 4m}
    ```
    """

    name = "approval.request"
    parameters = ApprovalParameters
    reach = Reach.NONE
    outputs: ClassVar = {
        "by": "who decided; `timeout` when nobody did",
        "comment": "what they said",
        "approval": "the decision's id",
    }

    def run(self, parameters: ApprovalParameters, context: ActionContext) -> Outcome:
        question = Question(
            text=parameters.text,
            roles=tuple(Role(each) for each in parameters.roles),
            timeout=parameters.timeout,
            on_timeout=parameters.on_timeout,
        )
        found = context.port(Approvals).ask(context.run_id, context.step_id, question)
        outputs = {"by": found.decided_by, "comment": found.comment, "approval": found.id}
        if found.decision == "approved":
            return Done(outputs)
        if found.decision is not None:
            said = f": {found.comment}" if found.comment else ""
            words = f"{found.decision} by {found.decided_by}{said}"
            return Failed(FailureKind.PERMANENT, words, outputs)
        left = max(0.0, (found.expires_at - context.clock.now()).total_seconds())
        roles = " or ".join(found.roles)
        until = f"{found.expires_at:%H:%M:%S}"
        reason = f"waits for approval by {roles} until {until} ({found.id}): {found.text}"
        return Again(min(left, LOOK_SECONDS), {"asked": format_duration(parameters.timeout)}, reason)
