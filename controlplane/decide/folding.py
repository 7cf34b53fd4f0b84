"""Folding: three bad nodes of one zone are one bad zone.

A parent is bad when at least two and at least half of its children are. Children's own
incidents then follow the parent's; what was about to be done for them gives way. While a wider
target is answered for another reason, its parts wait for a moment too. Zones do not fold into
the service: what to do about that is not a wider remedy but a suspicion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from controlplane.model.base import Level
from controlplane.model.records import Incident
from controlplane.model.signals import SignalState, Verdict
from controlplane.model.states import IncidentState, is_final
from controlplane.model.target import Signal, Target

PARENTS: tuple[Level, ...] = ("node", "zone")
CHILDREN: dict[Level, tuple[Level, ...]] = {"node": ("replica",), "zone": ("node", "replica")}
LEAST = 2
ALONE = timedelta(seconds=30)
"""For so long a zone must not have been in the same trouble before a part of it is a case of its own."""

_ACTIVE = {IncidentState.PENDING, IncidentState.FIRING}


def fold(
    verdicts: Sequence[Verdict], targets: Sequence[Target], open_signals: Collection[str] = ()
) -> list[Verdict]:
    """Return the verdicts with those of parents that their children make bad.

    A parent that is not measured itself gets a verdict from its children when that is bad, or
    when it is among ``open_signals`` and has to be able to heal.
    """
    found = {verdict.signal: verdict for verdict in verdicts}
    orphans = [signal for text in open_signals if (signal := Signal.parse(text)) not in found]
    bad = [verdict for verdict in verdicts if verdict.bad]
    if not bad and not orphans:
        return list(found.values())
    sizes = _sizes(targets)
    for level in PARENTS:
        wanted = {_parent(verdict.signal, level) for verdict in bad if _is_child(verdict.signal, level)}
        wanted |= {signal for signal in orphans if signal.target.level == level}
        groups = _groups(found, level, wanted)
        for parent in (target for target in targets if target.level == level):
            for signal, by_level in groups.get(parent, {}).items():
                _fold_one(_Family(signal, by_level, sizes[parent]), found, open_signals)
                folded = found.get(signal)
                if folded is not None and folded.bad:
                    bad.append(folded)
    return list(found.values())


def _is_child(signal: Signal, level: Level) -> bool:
    return signal.target.level in CHILDREN[level]


def _parent(signal: Signal, level: Level) -> Signal:
    return Signal(signal.kind, signal.name, signal.target.at(level))


def _groups(
    found: Mapping[Signal, Verdict], level: Level, wanted: Collection[Signal]
) -> dict[Target, dict[Signal, dict[Level, list[Verdict]]]]:
    """Collect the verdicts under each wanted signal of a parent, by level."""
    groups: dict[Target, dict[Signal, dict[Level, list[Verdict]]]] = {}
    named = {(signal.kind, signal.name) for signal in wanted}
    for signal, verdict in found.items():
        if (signal.kind, signal.name) in named and _is_child(signal, level):
            parent = _parent(signal, level)
            if parent in wanted:
                by_level = groups.setdefault(parent.target, {}).setdefault(parent, {})
                by_level.setdefault(signal.target.level, []).append(verdict)
    return groups


def _sizes(targets: Sequence[Target]) -> dict[Target, Counter[Level]]:
    """Count the parts of each target by level: those of a whole fleet, measured or not."""
    sizes: dict[Target, Counter[Level]] = {}
    for target in targets:
        wider = target.parent()
        while wider is not None:
            sizes.setdefault(wider, Counter())[target.level] += 1
            wider = wider.parent()
    return sizes


@dataclass(frozen=True, slots=True)
class _Family:
    """One signal of a parent, what its children say, and how many children there are."""

    signal: Signal
    by_level: Mapping[Level, list[Verdict]]
    sizes: Mapping[Level, int]


def _fold_one(family: _Family, found: dict[Signal, Verdict], open_signals: Collection[str]) -> None:
    signal, own = family.signal, found.get(family.signal)
    for level, children in family.by_level.items():
        bad = [child for child in children if child.bad]
        if len(bad) >= LEAST and 2 * len(bad) >= family.sizes[level]:
            tiers = tuple(dict.fromkeys(tier for child in bad for tier in child.tiers))
            tiers = own.tiers if own and own.tiers else tiers
            why = f"{len(bad)} of {family.sizes[level]} {level}s are bad"
            folded = (own or _from_children(signal, children)).as_bad(tiers, bad[0].severity, why)
            accusers = folded.accusers.union(*(child.accusers for child in bad))
            found[signal] = replace(folded, accusers=accusers)
            return
    if own is None and str(signal) in open_signals:
        found[signal] = _from_children(signal, next(iter(family.by_level.values())))


def _from_children(signal: Signal, children: Sequence[Verdict]) -> Verdict:
    """Speak for a parent that nobody measures: good when all known children are."""
    known = [child.state.good for child in children if child.state.good is not None]
    state = SignalState(
        good=all(known) if known else None,
        value=sum(known) / len(known) if known else None,
        objective=0.5,
        samples=len(known),
        since=min(child.state.since for child in children),
        until=max(child.state.until for child in children),
        clients_good=children[0].state.clients_good,
        clients_value=children[0].state.clients_value,
        detail=f"from {len(known)} of {len(children)} {children[0].signal.target.level}s",
    )
    blind, event = all(child.blind for child in children), all(child.event for child in children)
    return Verdict(signal, state, blind=blind, event=event)


def parent_of(incident: Incident, open_incidents: Sequence[Incident]) -> Incident | None:
    """Return the widest active incident of the same signal that an incident folds into, up to its zone."""
    named = _named(incident)
    same = (other for other in wider(incident, open_incidents) if _named(other) == named)
    return next(same, None)


def wider(incident: Incident, open_incidents: Sequence[Incident]) -> list[Incident]:
    """Return the active incidents, of any signal, of what contains an incident's target; the widest first."""
    target = Target.parse(incident.target)
    found = [
        other
        for other in open_incidents
        if other.state in _ACTIVE
        and (place := Target.parse(other.target)) != target
        and place.level in PARENTS
        and place.contains(target)
    ]
    return sorted(found, key=lambda other: (len(other.target.split("/")), other.opened_at, other.id))


def is_alone(incident: Incident, incidents: Sequence[Incident], now: datetime) -> bool:
    """Tell whether the zone around an incident's target has not been in the same trouble lately.

    What half of a zone has is the zone's; and where one part is well again a moment after the
    others, it was not alone either. ``incidents``: those that are open.
    """
    target, named = Target.parse(incident.target), _named(incident)
    return not any(
        Target.parse(other.target).level == "zone"
        and other.target != incident.target
        and Target.parse(other.target).contains(target)
        and _named(other) == named
        and not is_final(other.state)
        and (other.calm_since is None or now - other.calm_since < ALONE)
        for other in incidents
    )


def _named(incident: Incident) -> tuple[str, str]:
    signal = Signal.parse(incident.signal)
    return signal.kind, signal.name
