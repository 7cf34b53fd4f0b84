"""``drill.preconditions``: nothing is broken on purpose while something is broken by accident.

Waits until no incident is open, no other drill runs, no halt is in force and the steady state has
held for long enough; gives up after the drill's time-out and says what stood in the way.
"""

from __future__ import annotations

from typing import ClassVar

from chaos.drills.case import LEAD, Case, Ready, case_of
from chaos.drills.truth import Truth
from chaos.drills.verdict import ENOUGH, MAX_GAP
from chaos.drills.watch import query_values, start_probes
from controlplane.kernel.errors import Unavailable
from controlplane.model.action import Action, ActionContext
from controlplane.model.base import Model
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.model.report import DrillVerdict
from controlplane.model.windows import open_windows
from controlplane.store.runs import RunQuery

EVERY = 1.0
"""Seconds between two looks."""


class NoParameters(Model):
    """Everything is in the drill that the run pins."""


class CheckPreconditions(Action[NoParameters]):
    """Waits until the drill may begin: no open incident, no other drill, a steady state that holds."""

    name: ClassVar[str] = "drill.preconditions"
    parameters: ClassVar[type[Model]] = NoParameters
    outputs: ClassVar[dict[str, str]] = {
        "met": "whether the drill may begin",
        "verdict": "aborted or inconclusive, when it may not",
        "reasons": "what stood in the way",
        "steadyFrom": "since when the steady state holds, unix seconds",
        "at": "when the preconditions were met, unix seconds",
        "weights": "each zone's weight before",
        "zoneShares": "each zone's share of new requests by the weights before",
        "values": "what the queries of the hypothesis gave before",
    }

    def run(self, parameters: NoParameters, context: ActionContext) -> Outcome:
        case = case_of(context)
        wanted = case.drill.spec.preconditions
        forbidden = _forbidden(case)
        if forbidden:
            return _given_up(DrillVerdict.ABORTED, forbidden)
        waited = (context.clock.now() - context.started_at).total_seconds()
        in_the_way = _in_the_way(case)
        unsteady, ready = _steady_state(case)
        if not in_the_way and not unsteady and ready is not None:
            return Done(ready.model_dump(mode="json", by_alias=True))
        if waited >= wanted.timeout:
            verdict = DrillVerdict.ABORTED if in_the_way else DrillVerdict.INCONCLUSIVE
            return _given_up(verdict, in_the_way or unsteady)
        return Again(EVERY, reason="; ".join(in_the_way or unsteady))


def _given_up(verdict: DrillVerdict, reasons: list[str]) -> Done:
    ready = Ready(met=False, verdict=verdict.value, reasons=tuple(reasons))
    return Done(ready.model_dump(mode="json", by_alias=True))


def _forbidden(case: Case) -> list[str]:
    """List what waiting cannot change."""
    wanted = case.drill.spec.environment
    present = case.policy.spec.environment if case.policy is not None else None
    if present != wanted:
        return [f"the drill is for environment `{wanted}`, this control plane is `{present or 'unnamed'}`"]
    found = _misjudged(case)
    if found:
        return found
    freeze = case.policy.spec.freeze if case.policy is not None else ()
    frozen = [
        f"frozen by {window.name} until {end.isoformat()}" + (f": {window.reason}" if window.reason else "")
        for window, end in open_windows(freeze, case.service.name, case.database.now())
    ]
    with case.database.reading() as tx:
        raised = tx.freezes.in_force(case.service.name)
    return frozen + [f"frozen by {one.by} until {one.expires_at.isoformat()}: {one.reason}" for one in raised]


def _misjudged(case: Case) -> list[str]:
    """List what is wrong with the tiers that a drill names: it may not look away from who must be served."""
    spec, tiers = case.drill.spec, {tier.name: tier for tier in case.service.spec.tiers}
    named = {*spec.recovery.tiers, *(name for one in spec.stop_conditions for name in one.tiers)}
    named |= {name for probe in spec.hypothesis.probes for name in getattr(probe, "tiers", ())}
    found = [f"the Service has no tier `{name}`" for name in sorted(named - tiers.keys())]
    if spec.recovery.tiers:
        found += [
            f"recovery.tiers leaves out `{name}`, which may not be shed"
            for name, tier in tiers.items()
            if not tier.may_shed and name not in spec.recovery.tiers
        ]
    return found


def _in_the_way(case: Case) -> list[str]:
    wanted, service = case.drill.spec.preconditions, case.service.name
    found = []
    with case.database.reading() as tx:
        if wanted.no_open_incident:
            found += [
                f"incident {one.id} is open: {one.title}"
                for one in tx.incidents.list(open=True, service=service, limit=3)
            ]
        if wanted.no_other_drill:
            others = tx.runs.list(RunQuery(kind="drill", service=service, active=True))
            found += [f"drill {run.name} ({run.id}) is under way" for run in others if run.id != case.run.id]
            standing = tx.faults.list(service=service, open=True)
            found += [f"fault {one.id} is {one.state}" for one in standing if one.run != case.run.id]
    return found


def _steady_state(case: Case) -> tuple[list[str], Ready | None]:
    """Judge the last stretch: every zone takes its traffic, the share is enough, all start probes hold."""
    span = case.drill.spec.preconditions.steady_for
    evidence = case.ports.evidence
    try:
        now = case.database.now().timestamp()
        truth = case.truth(now - span - LEAD)
        weights = evidence.weights()
        values = query_values(case, "start")
    except Unavailable as error:
        return [str(error)], None
    steady_from = truth.now - span
    problems = _unsteady(truth, steady_from)
    empty = sorted(zone for zone, weight in weights.items() if weight == 0)
    problems += [f"{zone} takes no traffic" for zone in empty]
    reports = start_probes(case, truth, values)
    problems += [
        f"{one.name}: {one.detail or one.value} ({one.tolerance})" for one in reports if one.good is not True
    ]
    ready = Ready(
        met=True,
        steady_from=steady_from,
        at=truth.now,
        weights=weights,
        zone_shares={zone: weight / max(1, sum(weights.values())) for zone, weight in weights.items()},
        values=values,
    )
    return problems, ready


def _unsteady(truth: Truth, steady_from: float) -> list[str]:
    share = truth.share(steady_from, truth.now)
    if share.settled is None or share.good + share.bad < share.open:
        return ["too few requests have ended to tell whether the state is steady"]
    if share.settled < ENOUGH:
        return [f"the effective share is {share.settled:.3f}, {ENOUGH} is needed"]
    gap = truth.longest_gap(steady_from, truth.now)
    if gap > MAX_GAP:
        return [f"no request was planned for {gap:.1f} s"]
    return []
