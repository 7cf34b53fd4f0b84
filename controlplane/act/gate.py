"""A run that people must approve waits here, before its first step, until somebody decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from controlplane.act.approve import expire, requested
from controlplane.act.claims import Budget
from controlplane.act.ending import begin_ending
from controlplane.act.engine import Next, Parts, Turn, Wait, Work
from controlplane.act.preview import Looker
from controlplane.kernel.errors import FleetwardError
from controlplane.kernel.templating import evaluate
from controlplane.model.action import Touch
from controlplane.model.approval import ApprovalRecord, Question
from controlplane.model.identity import Role
from controlplane.model.playbook import Approval, Step
from controlplane.model.preview import PlannedStep
from controlplane.model.service import Service
from controlplane.model.states import RunState
from controlplane.model.target import Target
from controlplane.model.topology import Topology
from controlplane.platforms.port import Platform

log = structlog.get_logger(__name__)


def approval_due(turn: Turn) -> Next | None:
    """Return what keeps the run from starting: asking, waiting, or its end; None when it may start."""
    wanted = turn.pinned.plan.approval
    if wanted is None:
        return None
    found = turn.tx.approvals.of(turn.run.id, None)
    if found is None:
        return _ask(turn, wanted) if _is_wanted(turn, wanted) else None
    found = expire(turn.tx, found, turn.run)
    if found.decision is None:
        return _wait(turn, found)
    if found.decision == "approved":
        return None
    words = f"{found.decision} by {found.decided_by}" + (f": {found.comment}" if found.comment else "")
    return begin_ending(turn, RunState.CANCELLED, words, undo=False)


@dataclass(frozen=True, slots=True)
class Seen:
    """What each step would do, and the fleet that the blast radius is judged on."""

    steps: Sequence[PlannedStep]
    topology: Topology | None


@dataclass(slots=True)
class Ask:
    """Work: look at what the run would touch, then ask. The scope knows no steps: none has run."""

    parts: Parts
    service: Service
    steps: Sequence[Step]
    scope: Mapping[str, Any]
    wanted: Approval

    def perform(self) -> Seen:
        looker = Looker(self.parts.actions, self.parts.ports, self.parts.clock, self.service)
        steps = looker.look(self.steps, self.scope)
        try:
            return Seen(steps, self.parts.port(Platform).topology(self.service.name))
        except FleetwardError as error:
            log.warning("no picture of the fleet for a preview", error=str(error))
            return Seen(steps, None)

    def record(self, turn: Turn, result: Seen) -> Work | None:
        where = f" on {turn.run.target}" if turn.run.target else ""
        question = Question(
            text=f"may {turn.run.name} run{where}?",
            roles=tuple(Role(each) for each in self.wanted.roles),
            timeout=self.wanted.timeout,
            on_timeout=self.wanted.on_timeout,
        )
        asked = turn.tx.approvals.ask(turn.run.id, None, question, _preview(turn, result))
        requested(turn.tx, asked)
        return None


def _ask(turn: Turn, wanted: Approval) -> Ask:
    scope = {name: value for name, value in turn.scope.items() if name != "steps"}
    return Ask(turn.parts, turn.pinned.service, turn.pinned.plan.steps, scope, wanted)


def _preview(turn: Turn, seen: Seen) -> dict[str, Any]:
    """Return what was seen as it is kept, with the blast radius of all steps together on what is out now."""
    found: dict[str, Any] = {"steps": [step.model_dump(mode="json", by_alias=True) for step in seen.steps]}
    if seen.topology is not None:
        touches = [
            Touch(Target.parse(touch.target), touch.dimension, returns=touch.returns)
            for step in seen.steps
            for touch in step.touches
        ]
        judged = Budget.of(turn.pinned).judge(turn.tx, turn.run.id, touches, seen.topology)
        found["blastRadius"] = judged.model_dump(mode="json", by_alias=True)
    return found


def _is_wanted(turn: Turn, wanted: Approval) -> bool:
    """Tell whether the condition asks for people; one that cannot be worked out does."""
    if wanted.when is None or "approval" in turn.run.progress:
        return wanted.when is None or turn.run.progress["approval"] == "wanted"
    try:
        needed = bool(evaluate(wanted.when, turn.scope))
        why = f"`{wanted.when}` is {'true' if needed else 'false'}"
    except FleetwardError as error:
        needed, why = True, f"`{wanted.when}` cannot be worked out: {error}"
    turn.remember(approval="wanted" if needed else "not wanted")
    turn.journal("approval.needed" if needed else "approval.notNeeded", why)
    return needed


def _wait(turn: Turn, approval: ApprovalRecord) -> Wait:
    roles = " or ".join(approval.roles)
    why = f"waits for approval by {roles} until {approval.expires_at:%H:%M:%S} ({approval.id})"
    if turn.run.waiting != why:
        turn.update(waiting=why)
        turn.tx.emit("run", turn.run.id)
    return Wait(approval.expires_at, why)
