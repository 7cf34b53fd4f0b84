"""Runs that begin late: is there still something to answer?

A run may wait long for its turn: behind its group, for an answer of people, for blast radius.
By then what it was started for may be well again, and to act on it would do harm alone: a
zone evacuated for an incident of a minute ago. Such a run gives way; if it comes to be bad
again, the loop starts another. It speaks only for runs that the loop started: what a person
starts, retries or takes back is that person's to judge, and a rung of a ladder its ladder's.
"""

from __future__ import annotations

from controlplane.act.engine import Turn
from controlplane.model.records import Incident
from controlplane.model.states import IncidentState, StepState
from controlplane.store.budgets import NOTICE

LOOP = "controller"
"""Who starts the runs that are judged here."""


def nothing_left(turn: Turn) -> str | None:
    """Say why a run that has done nothing yet need not begin; None when it may."""
    run = turn.run
    if run.incident is None or run.started_by != LOOP or run.trigger == NOTICE:
        return None
    if any(step.state is not StepState.PENDING for step in turn.steps):
        return None
    incident = turn.tx.incidents.find(run.incident)
    answered = (run.scope.get("incident") or {}).get("state")
    if incident is None or answered is None:
        return None
    return _why(incident, IncidentState(answered))


def _why(incident: Incident, answered: IncidentState) -> str | None:
    if answered is IncidentState.FIRING and incident.calm_since is not None:
        return f"it is calm now: {incident.title} has not been bad since {incident.calm_since:%H:%M:%S} UTC"
    gone = {IncidentState.FIRING, IncidentState.RESOLVED}
    if answered is IncidentState.MITIGATED and incident.state in gone:
        return f"its incident is {incident.state} now: {incident.detail}"
    return None
