"""Where each objective stands, in numbers for people: the same counts that the verdicts rest on.

It judges nothing a second time: who fires is said by the verdicts, what is left by the budgets. An
objective that has too few events says that it is unknown, and why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from controlplane.decide import burn
from controlplane.decide.budgets import BudgetBook
from controlplane.decide.plan import tier_ask
from controlplane.model.objectives import ObjectiveStatus, PlaceStatus, State, TierStatus
from controlplane.model.query import promql_duration
from controlplane.model.signals import Verdict
from controlplane.model.slo import Slo
from controlplane.model.target import Target
from controlplane.observe.measures import Measures

HOUR = 3600.0
"""Seconds that the shown burn rate looks at: those of the workbook's quickest tier."""


def statuses(
    slos: Sequence[Slo],
    verdicts: Sequence[Verdict],
    measures: Measures,
    book: BudgetBook,
    at: datetime,
) -> tuple[ObjectiveStatus, ...]:
    """Return how every SLO stands at its service and at each target where it is judged."""
    if not slos:
        return ()
    tiers = [tier for slo in slos for tier in slo.spec.burn_tiers]
    windows = sorted({HOUR, *(each for tier in tiers for each in (tier.long, tier.short))})
    service = measures.service.target
    asks = [tier_ask(slo, service) for slo in slos]
    counts = measures.counts(asks, windows)
    mine: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.signal.kind == "slo":
            mine.setdefault(verdict.signal.name, []).append(verdict)
    seen = measures.observed(asks, windows) / np.array(windows)
    targets = np.array([[slo.spec.target] for slo in slos])
    bad = np.maximum(counts.total - counts.good, 0.0) / np.maximum(counts.total, 1e-12)
    rates = (bad * seen / (1.0 - targets)).tolist()
    least = burn.burn_rate(counts.good, counts.total, targets, seen).tolist()
    totals = counts.total.tolist()
    found = []
    for row, slo in enumerate(slos):
        columns = {
            window: _Window(totals[row][i], rates[row][i] if totals[row][i] > 0 else None, least[row][i])
            for i, window in enumerate(windows)
        }
        found.append(_status(slo, mine.get(slo.name, ()), columns, book, at, service))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Window:
    """One window: its events, its burn rate if it has any, and the least of it that they make likely."""

    total: float
    burn: float | None
    least: float


def _status(
    slo: Slo,
    verdicts: Sequence[Verdict],
    columns: dict[float, _Window],
    book: BudgetBook,
    at: datetime,
    service: Target,
) -> ObjectiveStatus:
    spec = slo.spec
    whole = next((each for each in verdicts if each.signal.target == service), None)
    firing = set(whole.tiers) if whole else set()
    budget = book.of(slo)
    rate = columns[HOUR].burn
    calendar = spec.window.calendar
    return ObjectiveStatus(
        name=slo.name,
        service=spec.service,
        indicator=spec.measure,
        target=spec.target,
        window=f"{calendar.unit}, {calendar.time_zone}" if calendar else promql_duration(spec.window.length),
        window_start=spec.window.start(at),
        counts=spec.budgeting.method,
        state=_state(whole) if whole else _worst([_state(each) for each in verdicts]),
        value=budget.good / budget.total if budget.total > 0 else None,
        good=budget.good,
        total=budget.total,
        observed=budget.observed,
        min_events=spec.min_events,
        budget_left=budget.left,
        burn_rate=rate,
        time_to_exhaustion=exhaustion(budget.left, rate, spec.window.length, spec.window.horizon(at)),
        tiers=tuple(_tier(slo, number, columns, firing) for number in range(len(spec.burn_tiers))),
        places=tuple(_place(each) for each in verdicts),
    )


def exhaustion(left: float | None, rate: float | None, window: float, horizon: float) -> float | None:
    """Return the seconds until a budget is spent at a burn rate; 0 when it is.

    None when it would not be within ``horizon``: until then a rolling window has left the past behind, and a
    calendar one begins anew.
    """
    if left is None:
        return None
    if left <= 0:
        return 0.0
    seconds = left * window / rate if rate else math.inf
    return seconds if seconds <= horizon else None


def _tier(slo: Slo, number: int, columns: dict[float, _Window], firing: set[str]) -> TierStatus:
    tier = slo.spec.burn_tiers[number]
    long, short = columns[tier.long], columns[tier.short]
    found = TierStatus(
        name=tier.name,
        severity=tier.severity,
        factor=tier.factor,
        long=tier.long,
        short=tier.short,
        burn_long=long.burn,
        burn_short=short.burn,
        least_long=long.least,
        least_short=short.least,
        events=long.total,
        fires=tier.name in firing,
    )
    return found.model_copy(update={"says": _says(found, slo.spec.min_events)})


def _says(tier: TierStatus, min_events: float) -> str:
    if tier.fires:
        return "fires"
    if tier.events < min_events:
        return f"fewer than {min_events:g} events"
    slow = [
        name
        for name, least in (("long", tier.least_long), ("short", tier.least_short))
        if least < tier.factor
    ]
    return f"the {' and the '.join(slow)} window is under its factor" if slow else "its source is not fresh"


def _place(verdict: Verdict) -> PlaceStatus:
    state = verdict.state
    return PlaceStatus(
        target=str(verdict.signal.target),
        state=_state(verdict),
        value=state.value,
        samples=state.samples,
        firing=verdict.tiers,
        detail=state.detail,
    )


def _state(verdict: Verdict) -> State:
    if verdict.blind or verdict.state.good is None:
        return "unknown"
    return "good" if verdict.state.good else "bad"


def _worst(states: Sequence[State]) -> State:
    return next((each for each in ("bad", "unknown") if each in states), "good" if states else "unknown")
