"""Triggers: which playbooks an open incident calls for now.

Each trigger type (`controlplane.model.triggers`) is asked at every tick, so that nothing is
lost with a restart and nothing is replayed. A playbook answers an incident once per time
that it enters the trigger's state; again only if the last try did not succeed and its
throttle lets it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from controlplane.model.playbook import Playbook
from controlplane.model.records import Incident, Run
from controlplane.model.states import IncidentState, RunState, is_final
from controlplane.model.target import Signal
from controlplane.model.triggers.base import Facts, Trigger


@dataclass(frozen=True, slots=True)
class Candidate:
    """A playbook that an incident calls for, through one of its triggers."""

    playbook: Playbook
    trigger: Trigger
    incident: Incident

    @property
    def name(self) -> str:
        """What decisions and runs call the trigger."""
        return self.trigger.describe()


def candidates(
    playbooks: Sequence[Playbook], incidents: Sequence[Incident], facts: Facts
) -> Iterator[Candidate]:
    """Yield what is called for, playbooks by name, incidents by age; a playbook once per incident."""
    for playbook in sorted(playbooks, key=lambda each: each.name):
        for incident in sorted(incidents, key=lambda each: (each.opened_at, each.id)):
            for trigger in playbook.spec.triggers:
                if trigger.matches(incident, facts):
                    yield Candidate(playbook, trigger, incident)
                    break


def is_answerable(incident: Incident, playbooks: Sequence[Playbook]) -> bool:
    """Tell whether any playbook would answer the incident once it is firing.

    What nobody answers must not keep the parts from being answered.
    """
    signal = Signal.parse(incident.signal)
    return any(trigger.answers(signal) for playbook in playbooks for trigger in playbook.spec.triggers)


def is_answered(candidate: Candidate, runs: Sequence[Run]) -> bool:
    """Tell whether the incident's present turn has been answered by the playbook.

    ``runs``: those of this playbook for this incident. A run that was cancelled is an answer:
    a person said no. One that gave way before it began is none, and one that failed or gave way
    later is none if the playbook has a throttle that keeps it from trying for ever.
    """
    began = _turn_began(candidate)
    mine = [run for run in runs if not run.never_began and (began is None or run.created_at >= began)]
    if any(not is_final(run.state) or run.state in {RunState.SUCCEEDED, RunState.CANCELLED} for run in mine):
        return True
    return bool(mine) and candidate.playbook.spec.throttle is None


def _turn_began(candidate: Candidate) -> datetime | None:
    incident = candidate.incident
    if incident.state is IncidentState.FIRING:
        return incident.changed_at
    if incident.state is IncidentState.MITIGATED:
        return incident.fired_at if candidate.trigger.mends else incident.mitigated_at
    return incident.resolved_at
