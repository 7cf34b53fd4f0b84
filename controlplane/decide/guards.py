"""Guards: the ordered reasons not to act, each with a verdict and the values it was made on.

All of them are asked, also after one has said no, so that whoever asks why sees the whole
picture. A guard that lacks what it needs to know refuses. They change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from controlplane.decide import blast
from controlplane.kernel.durations import format_duration
from controlplane.model.action import Reach, Touch
from controlplane.model.base import MODES, Mode, strictest
from controlplane.model.playbook import Playbook
from controlplane.model.policy import PolicySpec
from controlplane.model.records import Freeze, GuardVerdict, Halt, Incident, OutOfService, Run, Verdict
from controlplane.model.service import Service
from controlplane.model.states import IncidentState, is_final
from controlplane.model.target import Target
from controlplane.model.topology import Topology
from controlplane.model.windows import open_windows

ALLOW, REFUSE, WAIT = Verdict.ALLOW, Verdict.REFUSE, Verdict.WAIT

TRIGGERS_HOLDER = "(triggering)"

WORKED_ON = 30.0
"""Seconds for which a part waits for a run at work on its zone, and the service for one on a part of it."""


@dataclass(frozen=True, slots=True)
class View:
    """The loop's view at this tick, the same for every case.

    ``sources``: health by name, the platform's included. ``bad_zones`` and
    ``unhealthy``/``replicas`` count what is bad now. ``warm``: enough was seen since this
    leader began.
    """

    now: datetime
    service: Service
    policy: PolicySpec
    topology: Topology
    sources: Mapping[str, str] = field(default_factory=dict)
    bad_zones: Sequence[str] = ()
    unhealthy: int = 0
    replicas: int = 0
    warm: bool = True
    ticks: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """One playbook about to answer one incident, or without one to be started at a ``place``.

    ``parent``: the wider incident that is answered first. ``alone``: the zone around it is not in the
    same trouble. ``runs``: active and recent ones
    of the service. ``spent``: how many runs of the playbook's budget are used.
    """

    playbook: Playbook
    trigger: str
    incident: Incident | None
    view: View
    parent: Incident | None = None
    alone: bool = True
    halts: Sequence[Halt] = ()
    runs: Sequence[Run] = ()
    ledger: Sequence[OutOfService] = ()
    freezes: Sequence[Freeze] = ()
    touches: Sequence[Touch] = ()
    group: str | None = None
    place: str = ""
    by: str | None = None
    """The person who asks for it."""
    spent: int | None = None
    reach: Reach = Reach.OUT
    """The most that the playbook's actions may do to the fleet."""

    @property
    def target(self) -> Target:
        return Target.parse(self.incident.target if self.incident is not None else self.place)


Guard = Callable[[Case], GuardVerdict]


def _say(guard: str, verdict: Verdict, message: str, **values: Any) -> GuardVerdict:
    return GuardVerdict(guard=guard, verdict=verdict, message=message, values=values)


def halt(case: Case) -> GuardVerdict:
    """Refuse while a halt covers the target."""
    for each in case.halts:
        if _covers(each, case.target):
            until = each.expires_at.isoformat() if each.expires_at else None
            text = f"halted by {each.by}: {each.reason}"
            return _say("halt", REFUSE, text, halt=each.id, by=each.by, reason=each.reason, until=until)
    return _say("halt", ALLOW, "no halt is in force here", halts=len(case.halts))


def mode(case: Case) -> GuardVerdict:
    """Refuse what is only watched or planned; what a person starts is no automation."""
    modes = _modes(case)
    found = strictest(*modes.values())
    values = {name: value or "auto" for name, value in modes.items()}
    if found == MODES[-1]:
        return _say("mode", ALLOW, "auto", **values)
    if case.by is not None:
        return _say("mode", ALLOW, f"started by {case.by}: mode {found} binds automation", **values)
    who = ", ".join(name for name, value in modes.items() if value == found)
    if found == "approve":
        return _say("mode", ALLOW, f"mode approve ({who}): people are asked before it starts", **values)
    what = {"observe": "watched only", "dryRun": "planned only"}[found]
    return _say("mode", REFUSE, f"mode {found} ({who}): {what}", **values)


def asks_people(case: Case) -> bool:
    """Tell whether the mode in force is that people are asked; what a person starts is not asked for."""
    return case.by is None and strictest(*_modes(case).values()) == "approve"


def _modes(case: Case) -> dict[str, Mode | None]:
    return {
        "policy": case.view.policy.mode,
        "service": case.view.service.spec.mode,
        "playbook": case.playbook.spec.mode,
    }


def sources(case: Case) -> GuardVerdict:
    """Refuse on old or missing sight: no data is not bad data. Wait while this leader is new.

    A playbook that cannot change the fleet needs no sight: telling people that nobody sees is what is left.
    """
    view = case.view
    blind = sorted(f"{name} is {health}" for name, health in view.sources.items() if health != "fresh")
    values = {"sources": dict(view.sources), "ticks": view.ticks, "warm": view.warm}
    if blind and case.reach is Reach.NONE:
        text = f"{'; '.join(blind)}: its actions change nothing of the fleet"
        return _say("sources", ALLOW, text, reach=case.reach.value, **values)
    if blind:
        return _say("sources", REFUSE, "; ".join(blind), **values)
    if not view.warm:
        return _say("sources", WAIT, f"new to this: {view.ticks} ticks seen, windows not warm yet", **values)
    return _say("sources", ALLOW, "all sources are fresh", **values)


def storm(case: Case) -> GuardVerdict:
    """Refuse when everything looks broken: then suspect the observer.

    What takes nothing out of service may go on: if the observer is right, all zones at once is what too many
    clients look like, and refusing some of them is the remedy.
    """
    view, limits = case.view, case.view.policy.storm
    zones = case.view.service.zones
    share = view.unhealthy / view.replicas if view.replicas else 0.0
    values = {
        "badZones": sorted(view.bad_zones),
        "zones": len(zones),
        "unhealthyReplicas": view.unhealthy,
        "replicas": view.replicas,
        "unhealthyShare": round(share, 4),
        "maxUnhealthy": limits.max_unhealthy,
    }
    if case.reach is not Reach.OUT:
        return _say(
            "storm", ALLOW, "its actions take nothing out of service", reach=case.reach.value, **values
        )
    if limits.all_zones_bad and len(zones) > 1 and len(set(view.bad_zones)) >= len(zones):
        text = f"all {len(zones)} zones are bad at once: suspect the observer"
        return _say("storm", REFUSE, text, **values)
    if share > limits.max_unhealthy:
        text = (
            f"{view.unhealthy} of {view.replicas} replicas are unhealthy ({share:.0%}), more than "
            f"{limits.max_unhealthy:.0%}: suspect the observer"
        )
        return _say("storm", REFUSE, text, **values)
    return _say("storm", ALLOW, f"{len(set(view.bad_zones))} of {len(zones)} zones are bad", **values)


def calm(case: Case) -> GuardVerdict:
    """Wait while nothing bad is measured any more: an incident is closed later, so that it does not flap.

    What answers a later state of an incident gives back, and what has happened is not over by
    being past; neither is held up.
    """
    incident = case.incident
    if incident is None:
        return _say("calm", ALLOW, "no incident calls for it")
    if incident.state is not IncidentState.FIRING:
        return _say("calm", ALLOW, f"it answers an incident that is {incident.state}")
    since = incident.calm_since
    if since is None:
        return _say("calm", ALLOW, "its signal is bad, or was a moment ago", state=incident.state.value)
    passed = format_duration(round((case.view.now - since).total_seconds()))
    text = f"it is calm now: its signal has not been bad for {passed}"
    return _say("calm", WAIT, text, calmSince=since.isoformat())


def folding(case: Case) -> GuardVerdict:
    """Wait while the target's trouble is part of a wider one: what is done for that comes first.

    What is to be done for the whole service waits as well, for a while, for what is being done for a part of
    it: clients who queue because a zone is lost need not be refused once the others have its traffic.
    """
    if case.parent is not None:
        values = {"parent": case.parent.id, "target": case.parent.target}
        return _say("folding", WAIT, f"part of {case.parent.id}, {case.parent.title}", **values)
    work = _work_on_a_part(case)
    if work is not None:
        text = f"{work.id} ({work.name}) is at work on {work.target}, which may be all that is needed"
        return _say("folding", WAIT, text, run=work.id, target=work.target)
    return _say("folding", ALLOW, "it stands alone")


def _work_on_a_part(case: Case) -> Run | None:
    """Return the newest run under way on a part of the service, if the case is to change all of it."""
    if case.incident is None or case.target.level != "service" or case.reach is Reach.NONE:
        return None
    since = case.view.now - timedelta(seconds=WORKED_ON)
    found = [
        run
        for run in case.runs
        if run.kind == "playbook"
        and not is_final(run.state)
        and run.created_at > since
        and run.target is not None
        and Target.parse(run.target).level != "service"
    ]
    return max(found, key=lambda run: run.created_at, default=None)


def throttle(case: Case) -> GuardVerdict:
    """Refuse a second run of a group within the playbook's time; one that gave way unbegun does not count."""
    limit = case.playbook.spec.throttle
    if limit is None:
        return _say("throttle", ALLOW, "the playbook has no throttle")
    group = throttle_group(case.playbook, case.target)
    since = case.view.now - timedelta(seconds=limit.once_within)
    earlier = [
        run
        for run in case.runs
        if run.name == case.playbook.name
        and not run.never_began
        and run.created_at > since
        and run.target is not None
        and throttle_group(case.playbook, Target.parse(run.target)) == group
    ]
    values = {"onceWithin": format_duration(limit.once_within), "group": list(group)}
    if not earlier:
        return _say("throttle", ALLOW, f"none within {values['onceWithin']}", **values)
    last = max(earlier, key=lambda run: run.created_at)
    again = last.created_at + timedelta(seconds=limit.once_within)
    values |= {"run": last.id, "again": again.isoformat()}
    text = f"{last.id} started at {last.created_at:%H:%M:%S}, within {values['onceWithin']}"
    return _say("throttle", REFUSE, text, **values)


def concurrency(case: Case) -> GuardVerdict:
    """Refuse when a run of the group is active and the playbook says skip; else it queues or replaces."""
    spec = case.playbook.spec.concurrency
    if spec is None or case.group is None:
        return _say("concurrency", ALLOW, "the playbook has no concurrency group")
    active = [run.id for run in case.runs if run.group == case.group and not is_final(run.state)]
    values = {"group": case.group, "active": active, "onConflict": spec.on_conflict}
    if not active:
        return _say("concurrency", ALLOW, "no run of the group is active", **values)
    if spec.on_conflict == "skip":
        return _say("concurrency", REFUSE, f"{active[0]} of the group is active", **values)
    text = "replaces" if spec.on_conflict == "replace" else "queues behind"
    return _say("concurrency", ALLOW, f"{text} {active[0]}", **values)


def budget(case: Case) -> GuardVerdict:
    """Refuse when the playbook has run as often as it may: what does not last must be looked at by people."""
    limit = case.playbook.spec.budget
    if limit is None:
        return _say("budget", ALLOW, "the playbook has no budget")
    window = format_duration(limit.window)
    values = {"maxRuns": limit.max_runs, "window": window, "spent": case.spent, "then": limit.then}
    if case.spent is None:
        return _say("budget", REFUSE, "how often it has run is not known", **values)
    text = f"{case.spent} of {limit.max_runs} runs within {window} are used"
    return _say("budget", ALLOW if case.spent < limit.max_runs else REFUSE, text, **values)


def blast_radius(case: Case) -> GuardVerdict:
    """Judge what the playbook is about to take out against the one budget; steps are judged again."""
    return blast.blast_radius(
        case.touches,
        case.ledger,
        case.view.topology,
        [case.view.policy.limits, case.playbook.spec.limits],
        holder=TRIGGERS_HOLDER,
        protected=case.view.policy.protected,
    )


def freeze(case: Case) -> GuardVerdict:
    """Wait or refuse, as the playbook says, while the policy or a run has frozen changes."""
    windows = open_windows(case.view.policy.freeze, case.target.service, case.view.now)
    frozen = [(window.name, window.reason, end) for window, end in windows]
    frozen += [(each.by, each.reason, each.expires_at) for each in case.freezes]
    if not frozen:
        return _say("freeze", ALLOW, "no freeze is in force")
    who, why, end = max(frozen, key=lambda found: found[2])
    wish = case.playbook.spec.windows.in_freeze
    values = {"window": who, "until": end.isoformat(), "inFreeze": wish}
    text = f"frozen by {who} until {end.isoformat()}" + (f": {why}" if why else "")
    verdict = {"wait": WAIT, "refuse": REFUSE, "run": ALLOW}[wish]
    return _say("freeze", verdict, text, **values)


def maintenance(case: Case) -> GuardVerdict:
    """Wait outside of the maintenance windows that the playbook asks for."""
    wanted, view = case.playbook.spec.windows.only_in, case.view
    if not wanted:
        return _say("maintenance", ALLOW, "the playbook asks for no window")
    windows = [window for window in view.policy.maintenance if window.name in wanted]
    unknown = sorted(set(wanted) - {window.name for window in windows})
    if unknown:
        return _say("maintenance", REFUSE, f"the policy has no window `{unknown[0]}`", unknown=unknown)
    found = open_windows(windows, case.target.service, view.now)
    if found:
        window, end = found[0]
        until = end.isoformat()
        return _say(
            "maintenance", ALLOW, f"{window.name} is open until {until}", window=window.name, until=until
        )
    opens = [at for at in (window.opens(view.now) for window in windows) if at is not None]
    then = min(opens).isoformat() if opens else None
    text = f"outside of {', '.join(wanted)}" + (f"; opens {then}" if then else "; it opens no more")
    return _say("maintenance", WAIT, text, opens=then)


GUARDS: tuple[Guard, ...] = (
    halt,
    mode,
    freeze,
    maintenance,
    sources,
    storm,
    calm,
    folding,
    throttle,
    concurrency,
    budget,
    blast_radius,
)
"""In the order in which they are shown."""


def judge(case: Case, guards: Sequence[Guard] = GUARDS) -> tuple[GuardVerdict, ...]:
    """Ask every guard."""
    return tuple(guard(case) for guard in guards)


def limits_of(verdicts: Sequence[GuardVerdict]) -> dict[str, Any]:
    """Return what expressions know as ``limits``: how much would be out, and how much would stay healthy."""
    values = next((verdict.values for verdict in verdicts if verdict.guard == blast.GUARD), {})
    share = values.get("healthyShareAfter")
    found = {name: values.get(name) for name in ("zonesAfter", "zones", "replicas")}
    return found | {"healthyAfter": share, "healthyReplicasAfter": values.get("healthyAfter")}


def throttle_group(playbook: Playbook, target: Target) -> tuple[str, ...]:
    """Return what a target's runs share under the playbook's throttle."""
    limit = playbook.spec.throttle
    if limit is None:
        return ()
    parts = {name: getattr(target, name, None) or "*" for name in limit.group_by if name != "playbook"}
    return tuple(f"{name}={value}" for name, value in parts.items())


def _covers(each: Halt, target: Target) -> bool:
    if each.target is not None:
        return Target.parse(each.target).overlaps(target)
    if each.service is not None and each.service != target.service:
        return False
    return each.zone is None or target.zone is None or each.zone == target.zone
