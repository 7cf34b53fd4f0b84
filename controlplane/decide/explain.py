"""Why: what was decided about a target or an incident, and what each guard last said, as plain data.

Answers "why did it act" and, more often asked, "why did it not", from recorded decisions
alone. It recomputes nothing: what is shown is what was judged then, with its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import Field

from controlplane.kernel.clock import to_rfc3339
from controlplane.model.base import Model
from controlplane.model.records import Decision, GuardVerdict, Incident, Verdict
from controlplane.model.target import Target


class PlaybookAnswer(Model):
    """The last decision of one playbook: its outcome, and in one sentence why."""

    playbook: str
    trigger: str
    target: str
    outcome: str
    why: str
    at: str
    last_at: str
    count: int
    run: str | None = None
    incident: str | None = None
    guards: tuple[GuardVerdict, ...] = ()


class Explanation(Model):
    """What `fleetward why` shows: incidents about the subject, and each playbook's last decision."""

    subject: str
    incidents: tuple[str, ...] = Field((), description="one line each, open ones first")
    playbooks: tuple[PlaybookAnswer, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.incidents and not self.playbooks


def explain(subject: str, incidents: Sequence[Incident], decisions: Iterable[Decision]) -> Explanation:
    """Explain a target (text form) or an incident (its id); decisions of parts of the target count too."""
    about = [incident for incident in incidents if _concerns(subject, incident.id, incident.target)]
    latest: dict[tuple[str, str], Decision] = {}
    for decision in decisions:
        if not _concerns(subject, decision.incident, decision.target):
            continue
        key = (decision.playbook, decision.target)
        if key not in latest or (decision.last_at, decision.at) > (latest[key].last_at, latest[key].at):
            latest[key] = decision
    shown = sorted(latest.values(), key=lambda each: (each.last_at, each.id), reverse=True)
    about.sort(key=lambda each: (each.resolved_at is not None, each.opened_at))
    return Explanation(
        subject=subject,
        incidents=tuple(_line(incident) for incident in about),
        playbooks=tuple(_answer(decision) for decision in shown),
    )


def _concerns(subject: str, incident: str | None, target: str) -> bool:
    if subject == incident:
        return True
    if "/" not in subject and subject.startswith("inc-"):
        return False
    return Target.parse(subject).contains(Target.parse(target))


def _line(incident: Incident) -> str:
    value = "no data" if incident.value is None else f"{incident.value:.4g}"
    return (
        f"{incident.id} {incident.state} since {to_rfc3339(incident.changed_at)}: {incident.title}, {value}"
        + (f" against {incident.objective:.4g}" if incident.objective is not None else "")
        + (f"; {incident.detail}" if incident.detail else "")
    )


def _answer(decision: Decision) -> PlaybookAnswer:
    return PlaybookAnswer(
        playbook=decision.playbook,
        trigger=decision.trigger,
        target=decision.target,
        outcome=decision.outcome,
        why=why(decision),
        at=to_rfc3339(decision.at),
        last_at=to_rfc3339(decision.last_at),
        count=decision.count,
        run=decision.run,
        incident=decision.incident,
        guards=decision.guards,
    )


def why(decision: Decision) -> str:
    """Return the reason for a decision's outcome in one sentence."""
    against = [guard for guard in decision.guards if guard.verdict is not Verdict.ALLOW]
    if decision.outcome == "run":
        return f"all {len(decision.guards)} guards allowed it"
    if against:
        return "; ".join(f"{guard.guard}: {guard.message}" for guard in against)
    return str(decision.values.get("reason", decision.outcome))
