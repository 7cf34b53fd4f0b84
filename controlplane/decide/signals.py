"""Signals: each objective at each target, good, bad or unknown at this tick, and which tiers fire.

Counts of all objectives come in one vectorised pass. A verdict rests on a short window, so
that it can heal as fast as it can break; burn-rate tiers say how bad it was, and count as
bad now only while the short window is not well. What a blind source would have to say is
unknown. It keeps nothing between ticks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from controlplane.decide import burn
from controlplane.kernel.clock import from_unix
from controlplane.model.base import Level
from controlplane.model.signals import SignalState, Verdict
from controlplane.model.slo import Slo
from controlplane.model.target import LEVELS, Signal, Target
from controlplane.observe.library import CANARY, ENGINE, GATEWAY, STATES, sources_of
from controlplane.observe.measures import Ask, Counts, Measures

FAST = "fast"
"""The name of the fast tier, beside those of the burn rates."""

USUAL_WINDOW = 30.0
"""Seconds that a verdict rests on when the SLO has no fast tier to say otherwise."""

LEAST_SEEN = 0.5
"""Share of its window that must have been observed before there is a verdict."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What the observer could see: fresh sources, and per indicator and replica who accuses it."""

    at: datetime
    fresh: Collection[str]
    evidence: Mapping[str, Mapping[Target, frozenset[str]]] = field(default_factory=dict)
    replicas: Sequence[Target] = ()

    def is_blind(self, indicator: str, level: Level) -> bool:
        """Tell whether nothing fresh speaks for an indicator at targets of a level."""
        sources = sources_of(indicator)
        if indicator == "success":
            sources = (GATEWAY,) if level in {"service", "zone"} else (ENGINE,)
        elif indicator == "stalled":
            sources = (ENGINE,)
        return not any(source in self.fresh for source in sources)

    def accusers(self, indicator: str, target: Target) -> frozenset[str]:
        """Return the sources that call at least half of the target's replicas bad at this tick."""
        if indicator == "success":
            return frozenset({GATEWAY if target.level in {"service", "zone"} else ENGINE})
        if indicator not in STATES:
            return frozenset(sources_of(indicator))
        inside = [replica for replica in self.replicas if target.contains(replica)]
        found = self.evidence.get(indicator, {})
        return frozenset(
            source
            for source in sources_of(indicator)
            if inside and 2 * sum(source in found.get(replica, ()) for replica in inside) >= len(inside)
        )


def judge(slos: Sequence[Slo], targets: Sequence[Target], measures: Measures, sight: Sight) -> list[Verdict]:
    """Judge every SLO at every target of its levels, and at its service, whose clients all share."""
    asks: list[Ask] = []
    plan: list[tuple[Slo, list[Target], slice, slice]] = []
    for slo in slos:
        wanted = [t for t in targets if t.level in slo.spec.by or t.level == "service"]
        events = _asked(asks, slo.spec.measure, slo, wanted)
        apart = slo.spec.tier_measure != slo.spec.measure
        tiers = _asked(asks, slo.spec.tier_measure, slo, wanted) if apart else events
        plan.append((slo, wanted, events, tiers))
    windows = sorted({window for slo in slos for window in _windows(slo)})
    numbers = _numbers(plan, measures.counts(asks, windows), windows, measures)
    return [
        verdict
        for slo, wanted, events, tiers in plan
        for verdict in _judge_slo(slo, wanted, _board(slo, numbers, (events, tiers), measures), sight)
    ]


def _asked(asks: list[Ask], measure: str, slo: Slo, targets: Sequence[Target]) -> slice:
    """Add what is asked of a measure at these targets; return where it stands."""
    first = len(asks)
    asks += [Ask(measure, target, slo.spec.threshold) for target in targets]
    return slice(first, len(asks))


def _judge_slo(slo: Slo, targets: Sequence[Target], board: _Board, sight: Sight) -> Iterator[Verdict]:
    firing = _firing(slo, board)
    states = _states(slo, targets, board, sight, firing)
    dark_levels = {level for level in LEVELS if sight.is_blind(slo.spec.measure, level)}
    for i, (state, place) in enumerate(zip(states, targets, strict=True)):
        if place.level not in slo.spec.by:
            continue
        blind = place.level in dark_levels
        tiers = [(name, severity) for name, severity, fires in firing if fires[i] and not blind]
        yield Verdict(
            Signal("slo", slo.name, place),
            state,
            tiers=tuple(name for name, _ in tiers),
            severity=tiers[0][1] if tiers else "page",
            accusers=sight.accusers(slo.spec.measure, place) if tiers else frozenset(),
            blind=blind,
        )


@dataclass(frozen=True, slots=True)
class _Numbers:
    """All counts, and the burn rates that they make likely; ``seen``: the share of each window observed."""

    counts: Counts
    rates: burn.Floats
    seen: Mapping[float, float]


def _numbers(
    plan: Sequence[tuple[Slo, list[Target], slice, slice]],
    counts: Counts,
    windows: Sequence[float],
    measures: Measures,
) -> _Numbers:
    goals = np.zeros((counts.total.shape[0], 1))
    for slo, _, events, tiers in plan:
        goals[events] = goals[tiers] = slo.spec.target
    seen = {window: measures.store.covered(window) / window for window in windows}
    rates = burn.burn_rate(counts.good, counts.total, goals, np.array(list(seen.values())))
    return _Numbers(counts, rates, seen)


@dataclass(frozen=True, slots=True)
class _Board:
    """One SLO's numbers, a value per target: good, total and the share observed of the verdict's window.

    ``tiers``: for each window the burn rates and all events of what they count, which may be slices of time.
    """

    verdict: tuple[burn.Floats, burn.Floats, float]
    tiers: Mapping[float, tuple[burn.Floats, burn.Floats]]
    since: datetime
    note: str


def _board(slo: Slo, numbers: _Numbers, rows: tuple[slice, slice], measures: Measures) -> _Board:
    counts, window = numbers.counts, verdict_window(slo)
    events, tiers = rows
    column = {each: i for i, each in enumerate(numbers.seen)}
    mine = counts.good[events, column[window]], counts.total[events, column[window]]
    spans = {each for tier in slo.spec.burn_tiers for each in (tier.long, tier.short)}
    since = measures.store.window_start(window)
    return _Board(
        (*mine, numbers.seen[window]),
        {each: (numbers.rates[tiers, column[each]], counts.total[tiers, column[each]]) for each in spans},
        from_unix(since or 0.0),
        _snapped(slo, measures),
    )


def _firing(slo: Slo, board: _Board) -> list[tuple[str, str, burn.Bools]]:
    """Return each tier's name and severity, and for each target whether it fires."""
    spec = slo.spec
    found: list[tuple[str, str, burn.Bools]] = []
    if spec.fast:
        good, total, seen = board.verdict
        fast = burn.fast_fires(good, total, spec.fast.below, spec.fast.min_samples)
        found.append((FAST, "page", fast & (seen > LEAST_SEEN)))
    for tier in spec.burn_tiers:
        (long, events), (short, _) = board.tiers[tier.long], board.tiers[tier.short]
        fires = burn.tier_fires(long, short, events, tier.factor, spec.min_events)
        found.append((tier.name, tier.severity, fires))
    return found


def _states(
    slo: Slo,
    targets: Sequence[Target],
    board: _Board,
    sight: Sight,
    firing: Sequence[tuple[str, str, burn.Bools]],
) -> list[SignalState]:
    spec = slo.spec
    good, total, seen = board.verdict
    least = min(spec.min_events, spec.fast.min_samples) if spec.fast else spec.min_events
    enough = (total >= least) & (total > 0) & (seen > LEAST_SEEN)
    within = burn.is_within(good, total, spec.target)
    for name, _, fires in firing:
        within = within & ~fires if name == FAST else within
    dark_levels = {level for level in LEVELS if sight.is_blind(spec.measure, level)}
    blind = [place.level in dark_levels for place in targets]
    goods = [
        bool(well) if known and not dark else None
        for well, known, dark in zip(within.tolist(), enough.tolist(), blind, strict=True)
    ]
    shares = np.divide(good, total, out=np.full(good.size, np.nan), where=total > 0).tolist()
    values = [None if math.isnan(share) else min(1.0, share) for share in shares]
    clients = next((i for i, place in enumerate(targets) if place.level == "service"), None)
    return [
        SignalState.model_construct(
            good=word,
            value=value,
            objective=spec.target,
            samples=samples,
            since=board.since,
            until=sight.at,
            clients_good=None if clients is None else goods[clients],
            clients_value=None if clients is None else values[clients],
            detail="its source is not fresh" if dark else board.note,
        )
        for word, value, samples, dark in zip(goods, values, total.tolist(), blind, strict=True)
    ]


def verdict_window(slo: Slo) -> float:
    """Return the seconds that a verdict of this SLO rests on."""
    return slo.spec.fast.window if slo.spec.fast else USUAL_WINDOW


def is_confirmed(verdict: Verdict, accused: Mapping[Target, frozenset[str]]) -> bool:
    """Tell whether two independent sources call the target bad at this tick (`witnesses`)."""
    return (
        bool(verdict.accusers)
        and len(verdict.accusers | accused.get(verdict.signal.target, frozenset())) >= 2
    )


def witnesses(verdicts: Sequence[Verdict], failing: Mapping[Target, bool]) -> dict[Target, frozenset[str]]:
    """Return for each accused target all sources that accuse it: of any signal, and the canaries.

    ``failing``: for each replica that is asked, whether its canary's latest word is bad. The
    canaries accuse a target when they do at half of its replicas.
    """
    found: dict[Target, frozenset[str]] = {}
    for verdict in verdicts:
        if verdict.bad:
            target = verdict.signal.target
            found[target] = found.get(target, frozenset()) | verdict.accusers
    for target, sources in found.items():
        inside = [bad for replica, bad in failing.items() if target.contains(replica)]
        if inside and 2 * sum(inside) >= len(inside):
            found[target] = sources | {CANARY}
    return found


def clients_of(verdicts: Sequence[Verdict]) -> bool | None:
    """Tell whether the clients of the service are well by all objectives that can say; None when none can."""
    known = [each.state.clients_good for each in verdicts if each.state.clients_good is not None]
    return all(known) if known else None


def with_clients(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Add to each verdict that is not of an objective what the objectives say of the clients."""
    clients = clients_of(verdicts)
    return [
        each
        if clients is None or each.signal.kind == "slo"
        else replace(each, state=each.state.model_copy(update={"clients_good": clients}))
        for each in verdicts
    ]


def _windows(slo: Slo) -> Iterator[float]:
    yield verdict_window(slo)
    for tier in slo.spec.burn_tiers:
        yield tier.long
        yield tier.short


def _snapped(slo: Slo, measures: Measures) -> str:
    threshold = slo.spec.threshold
    if threshold is None or not measures.store.parts(slo.spec.measure):
        return ""
    bound = measures.bound(slo.spec.measure, threshold)
    if abs(bound - threshold) <= 1e-9 * threshold:
        return ""
    return f"{threshold:g} s is no bucket bound: judged at {bound:g} s"
