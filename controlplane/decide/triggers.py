"""Triggers: which playbooks an open incident calls for now.

A registry of matchers, one per type of trigger; each is asked at every tick, so that
nothing is lost with a restart and nothing is replayed. A playbook answers an incident once
per time that it enters the trigger's state; again only if the last try did not succeed and
its throttle lets it. Thresholds are measured here as signals of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from controlplane.decide.signals import Sight, Verdict
from controlplane.kernel.clock import from_unix
from controlplane.kernel.registry import Registry
from controlplane.model.playbook import (
    IncidentTrigger,
    ManualTrigger,
    Playbook,
    SloTrigger,
    ThresholdTrigger,
    Trigger,
)
from controlplane.model.records import Incident, Run
from controlplane.model.signals import CanaryState, SignalState
from controlplane.model.states import IncidentState, RunState, is_final
from controlplane.model.target import Signal, Target
from controlplane.observe.measures import SHORT, Measures, is_instant

THRESHOLD = "threshold"


@dataclass(frozen=True, slots=True)
class Facts:
    """What matchers may look at, beside the incident: tiers that fire now, canaries, by text form."""

    tiers: Mapping[str, tuple[str, ...]]
    canaries: Mapping[str, CanaryState]


Matcher = Callable[[Any, Incident, Facts], bool]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A playbook that an incident calls for, through one of its triggers."""

    playbook: Playbook
    trigger: Trigger
    incident: Incident

    @property
    def name(self) -> str:
        """What decisions and runs call the trigger."""
        return describe(self.trigger)


def describe(trigger: Trigger) -> str:
    """Return a trigger in one line: ``slo:chat-itl by zone``."""
    match trigger:
        case SloTrigger():
            return f"slo:{trigger.slo} by {trigger.by}"
        case ThresholdTrigger():
            return f"threshold:{threshold_name(trigger)} by {trigger.by}"
        case IncidentTrigger():
            return f"incident:{trigger.state} by {trigger.by}"
        case ManualTrigger():
            return "manual"


def threshold_name(trigger: ThresholdTrigger) -> str:
    """Return the name of a threshold's signal, which says its bound: ``queue>50``."""
    sign, bound = (">", trigger.above) if trigger.above is not None else ("<", trigger.below)
    return f"{trigger.indicator}{sign}{bound:g}"


def builtin() -> Registry[Matcher]:
    """Return the matchers of the shipped trigger types."""
    registry: Registry[Matcher] = Registry("trigger")
    registry.add("slo", _matches_slo)
    registry.add("threshold", _matches_threshold)
    registry.add("incident", _matches_incident)
    registry.add("manual", lambda *_: False)
    return registry


def candidates(
    playbooks: Sequence[Playbook], incidents: Sequence[Incident], facts: Facts, matchers: Registry[Matcher]
) -> Iterator[Candidate]:
    """Yield what is called for, playbooks by name, incidents by age; a playbook once per incident."""
    for playbook in sorted(playbooks, key=lambda each: each.name):
        for incident in sorted(incidents, key=lambda each: (each.opened_at, each.id)):
            for trigger in playbook.spec.triggers:
                if matchers.get(trigger.type)(trigger, incident, facts):
                    yield Candidate(playbook, trigger, incident)
                    break


def is_answerable(incident: Incident, playbooks: Sequence[Playbook]) -> bool:
    """Tell whether any playbook would answer the incident once it is firing.

    What nobody answers must not keep the parts from being answered.
    """
    signal = Signal.parse(incident.signal)
    own = (signal.kind, signal.name, signal.target.level)
    for playbook in playbooks:
        for trigger in playbook.spec.triggers:
            match trigger:
                case SloTrigger() if own == ("slo", trigger.slo, trigger.by):
                    return True
                case ThresholdTrigger() if own == (THRESHOLD, threshold_name(trigger), trigger.by):
                    return True
                case IncidentTrigger() if trigger.state == "firing" and trigger.by == signal.target.level:
                    return True
    return False


def is_answered(candidate: Candidate, runs: Sequence[Run]) -> bool:
    """Tell whether the incident's present turn has been answered by the playbook.

    ``runs``: those of this playbook for this incident. A run that was cancelled is an answer:
    a person said no. One that failed or gave way is not, if the playbook has a throttle that
    keeps it from trying for ever.
    """
    began = _turn_began(candidate)
    mine = [run for run in runs if began is None or run.created_at >= began]
    if any(not is_final(run.state) or run.state in {RunState.SUCCEEDED, RunState.CANCELLED} for run in mine):
        return True
    return bool(mine) and candidate.playbook.spec.throttle is None


def _turn_began(candidate: Candidate) -> datetime | None:
    incident = candidate.incident
    if incident.state is IncidentState.FIRING:
        return incident.changed_at
    if incident.state is IncidentState.MITIGATED:
        return incident.mitigated_at
    return incident.resolved_at


def thresholds(
    playbooks: Sequence[Playbook], targets: Sequence[Target], measures: Measures, sight: Sight
) -> list[Verdict]:
    """Measure every threshold trigger at every target of its level."""
    found: dict[Signal, Verdict] = {}
    for playbook in playbooks:
        for trigger in playbook.spec.triggers:
            if isinstance(trigger, ThresholdTrigger):
                for target in (each for each in targets if each.level == trigger.by):
                    verdict = _measure(trigger, target, measures, sight)
                    before = found.get(verdict.signal)
                    if before is None or verdict.hold < before.hold:
                        found[verdict.signal] = verdict
    return list(found.values())


def _measure(trigger: ThresholdTrigger, target: Target, measures: Measures, sight: Sight) -> Verdict:
    indicator, at = trigger.indicator, sight.at
    blind = sight.is_blind(indicator, target.level)
    value = None if blind else measures.value(indicator, target)
    bound = trigger.above if trigger.above is not None else trigger.below
    bound = 0.0 if bound is None else bound
    beyond = value is not None and (value > bound if trigger.above is not None else value < bound)
    since = measures.store.window_start(0.0 if is_instant(indicator) else SHORT)
    state = SignalState(
        good=None if value is None else not beyond,
        value=value,
        objective=bound,
        samples=float(value is not None),
        since=at if since is None else from_unix(since),
        until=at,
    )
    signal = Signal(THRESHOLD, threshold_name(trigger), target)
    tiers = (THRESHOLD,) if beyond else ()
    accusers = sight.accusers(indicator, target) if beyond else frozenset[str]()
    return Verdict(signal, state, tiers=tiers, accusers=accusers, blind=blind, hold=trigger.for_)


def _matches_slo(trigger: SloTrigger, incident: Incident, facts: Facts) -> bool:
    signal = Signal.parse(incident.signal)
    if (signal.kind, signal.name, signal.target.level) != ("slo", trigger.slo, trigger.by):
        return False
    firing = {incident.tier, *facts.tiers.get(incident.signal, ())}
    return incident.state is IncidentState.FIRING and bool(firing & set(trigger.tiers))


def _matches_threshold(trigger: ThresholdTrigger, incident: Incident, facts: Facts) -> bool:
    del facts
    signal = Signal.parse(incident.signal)
    wanted = (THRESHOLD, threshold_name(trigger), trigger.by)
    return (
        incident.state is IncidentState.FIRING and (signal.kind, signal.name, signal.target.level) == wanted
    )


def _matches_incident(trigger: IncidentTrigger, incident: Incident, facts: Facts) -> bool:
    if incident.state.value != trigger.state or Target.parse(incident.target).level != trigger.by:
        return False
    if trigger.target_healthy_for is None:
        return True
    canary = facts.canaries.get(incident.target)
    return canary is not None and canary.good is True and canary.good_for >= trigger.target_healthy_for
