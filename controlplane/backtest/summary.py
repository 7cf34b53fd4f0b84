"""From the store and the witnesses of a backtest to its report."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from controlplane.backtest.fleet import RecordedFleet
from controlplane.backtest.look import PLAN
from controlplane.backtest.report import Answer, Dark, Fired, Missed, Moved, Seen
from controlplane.backtest.witness import NearMiss, Reached, Witness
from controlplane.decide.explain import why
from controlplane.model.preview import PlannedStep
from controlplane.model.records import Decision, Incident, Verdict
from controlplane.model.triggers.threshold import THRESHOLD
from controlplane.store.transaction import Transaction

ALL = sys.maxsize
"""Rows that are read of a kind: the store is the backtest's own, and what was left out would be denied."""
MOST_MISSES = 20
"""Near misses that are told of a service."""


def incidents(tx: Transaction, worst: Mapping[str, float]) -> tuple[Fired, ...]:
    """Return the incidents that fired, the oldest first, each with what was decided about it."""
    decisions: dict[str, list[Decision]] = {}
    for decision in tx.decisions.list(limit=ALL):
        decisions.setdefault(decision.incident or "", []).append(decision)
    found = {each.id: each for each in tx.incidents.list(limit=ALL)}
    return tuple(
        _fired(tx, each, found, decisions.get(each.id, ()), worst.get(each.id))
        for each in sorted(found.values(), key=lambda incident: (incident.opened_at, incident.signal))
        if each.fired_at is not None
    )


def scheduled(tx: Transaction) -> tuple[Answer, ...]:
    """Return what the clock called for."""
    found = [each for each in tx.decisions.list(limit=ALL) if each.incident is None]
    return _answers(found)


def _fired(
    tx: Transaction,
    incident: Incident,
    others: Mapping[str, Incident],
    decisions: Sequence[Decision],
    worst: float | None,
) -> Fired:
    assert incident.fired_at is not None, "only those that fired are told"  # noqa: S101
    parent = others.get(incident.parent or "")
    return Fired(
        id=incident.id,
        service=incident.service,
        signal=incident.signal,
        target=incident.target,
        title=incident.title,
        severity=incident.severity,
        tier=incident.tier,
        opened_at=incident.opened_at,
        fired_at=incident.fired_at,
        resolved_at=incident.resolved_at,
        part_of=parent.title if parent is not None else None,
        objective=incident.objective,
        worst=worst,
        moves=tuple(
            Moved(at=line.at, state=line.state, message=line.message)
            for line in tx.incidents.timeline(incident.id)
        ),
        answers=_answers(decisions),
    )


def _answers(decisions: Sequence[Decision]) -> tuple[Answer, ...]:
    return tuple(
        _answer(each) for each in sorted(decisions, key=lambda each: (each.at, each.playbook, each.id))
    )


def _answer(decision: Decision) -> Answer:
    values = dict(decision.values)
    plan = values.pop(PLAN, ())
    reason = values.pop("reason", None)
    return Answer(
        at=decision.at,
        last_at=decision.last_at,
        times=decision.count,
        playbook=decision.playbook,
        trigger=decision.trigger,
        target=decision.target,
        outcome=decision.outcome,
        why=why(decision) if reason is None else str(reason),
        against=tuple(guard for guard in decision.guards if guard.verdict is not Verdict.ALLOW),
        values=values,
        plan=() if isinstance(plan, str) else tuple(PlannedStep.model_validate(step) for step in plan),
        plan_missing=plan if isinstance(plan, str) else "",
    )


def nearly(service: str, misses: Sequence[NearMiss]) -> tuple[Missed, ...]:
    """Return the nearest misses of a service."""
    return tuple(
        Missed(
            service=service,
            signal=str(each.peak.signal),
            target=str(each.peak.signal.target),
            way=each.peak.way,
            since=each.since,
            until=each.until,
            at=each.at,
            reached=round(min(each.peak.share, 1.0), 4),
            value=each.peak.value,
            needed=each.peak.needed,
            why=_words(each.peak),
        )
        for each in misses[:MOST_MISSES]
    )


def _words(peak: Reached) -> str:
    if peak.share >= 1:
        return "bad, and over before it counted: at two ticks in a row, and for as long as the trigger says"
    value = "" if peak.value is None else f"{peak.value:.4g}"
    if peak.way == "fast":
        return f"{value} were good, and the fast tier fires under {peak.needed:.4g}"
    if peak.way == THRESHOLD:
        return f"it was {value}, and the bound is {peak.needed:.4g}"
    return f"the budget burned at {value} times the allowed rate, and the tier fires at {peak.needed:.4g}"


def seen(service: str, interval: float, tick: float, witness: Witness, fleet: RecordedFleet) -> Seen:
    """Return what there was to see of a service."""
    return Seen(
        service=service,
        interval=interval,
        tick=tick,
        ticks=witness.ticks,
        observed=round(witness.seen / witness.ticks, 6) if witness.ticks else 0.0,
        replicas=fleet.replicas,
        weights="recorded" if fleet.weighed else "assumed",
        dark=tuple(
            Dark(source=gap.source, since=gap.since, until=gap.until, detail=gap.detail)
            for gap in witness.gaps
        ),
    )
