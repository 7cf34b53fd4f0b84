"""Signals: each objective at each target, good, bad or unknown at this tick, and which tiers fire.

All of them are judged in one pass over arrays (`controlplane.decide.plan`). A verdict rests on a
short window, so that it can heal as fast as it can break; burn-rate tiers say how bad it was, and
count as bad now only while the short window is not well. What a blind source would have to say is
unknown. It keeps nothing between ticks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from controlplane.decide import burn
from controlplane.decide.plan import Plan
from controlplane.kernel.clock import from_unix
from controlplane.model.base import Level
from controlplane.model.signals import SignalState, Verdict
from controlplane.model.slo import Slo
from controlplane.model.target import Target
from controlplane.observe.library import CANARY, ENGINE, GATEWAY, STATES, sources_of
from controlplane.observe.measures import Measures

FAST = "fast"
"""The name of the fast tier, beside those of the burn rates."""

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


def judge(
    slos: Sequence[Slo],
    targets: Sequence[Target],
    measures: Measures,
    sight: Sight,
    plan: Plan | None = None,
) -> list[Verdict]:
    """Judge every SLO at every target of its levels, and at its service, whose clients all share.

    ``plan``: that of these SLOs and targets, where there is one from an earlier tick.
    """
    plan = plan or Plan(slos, targets)
    if not plan.signals:
        return []
    board = _board(plan, measures)
    dark = _dark(plan, sight)
    tiers = _firing(plan, board, dark, sight)
    states = _states(plan, board, dark, measures, sight)
    return [
        Verdict(signal, state, blind=blind) if fires is None else Verdict(signal, state, *fires, blind)
        for signal, state, fires, blind, told in zip(
            plan.signals, states, tiers, dark.tolist(), plan.judged.tolist(), strict=True
        )
        if told
    ]


@dataclass(frozen=True, slots=True)
class _Board:
    """The numbers of one tick, a value for each row: of the verdict's window, and for each tier.

    ``fast`` and ``fires`` say which tiers are over their limits, whoever may see it.
    """

    good: burn.Floats
    total: burn.Floats
    seen: burn.Bools
    fast: burn.Bools
    fires: burn.Bools


def _board(plan: Plan, measures: Measures) -> _Board:
    counts = measures.counts(plan.questions, plan.windows)
    every = np.arange(len(plan.signals))
    good, total = counts.good[every, plan.verdict_column], counts.total[every, plan.verdict_column]
    covered = np.array([measures.store.covered(window) / window for window in plan.windows])
    seen = covered[plan.verdict_column] > LEAST_SEEN
    fast = burn.fast_fires(good, total, plan.fast_below, plan.fast_least) & seen
    rows = plan.tier_rows
    observed = measures.observed(plan.questions, plan.windows)[rows] / np.array(plan.windows)
    events = counts.total[rows]
    rates = burn.burn_rate(counts.good[rows], events, plan.target[:, None], observed)
    tier = every[:, None]
    fires = burn.tier_fires(
        rates[tier, plan.tier_long],
        rates[tier, plan.tier_short],
        events[tier, plan.tier_long],
        plan.tier_factor,
        plan.min_events[:, None],
    )
    return _Board(good, total, seen, fast, fires)


def _dark(plan: Plan, sight: Sight) -> burn.Bools:
    """Tell for each row whether nothing fresh speaks for it."""
    blind = np.array([sight.is_blind(measure, level) for measure, level in plan.kinds], dtype=bool)
    return np.asarray(blind[plan.kind])


_Fires = tuple[tuple[str, ...], str, frozenset[str]]
"""The tiers that fire, the severity of the first, and who accuses."""


def _firing(plan: Plan, board: _Board, dark: burn.Bools, sight: Sight) -> list[_Fires | None]:
    """Return for each row what fires there; nothing does where nobody sees."""
    found: list[_Fires | None] = [None] * len(plan.signals)
    any_fires = (board.fast | board.fires.any(axis=1)) & plan.judged & ~dark
    for row in np.nonzero(any_fires)[0].tolist():
        tiers = [(FAST, "page")] if board.fast[row] else []
        over = board.fires[row].tolist()
        tiers += [tier for tier, fires in zip(plan.tier_names[row], over, strict=False) if fires]
        accusers = sight.accusers(plan.slos[row].spec.measure, plan.signals[row].target)
        found[row] = tuple(name for name, _ in tiers), tiers[0][1], accusers
    return found


def _states(
    plan: Plan, board: _Board, dark: burn.Bools, measures: Measures, sight: Sight
) -> list[SignalState]:
    good, total = board.good, board.total
    least = np.minimum(plan.min_events, plan.fast_least)
    known = (total >= least) & (total > 0) & board.seen & ~dark
    within = burn.is_within(good, total, plan.target) & ~board.fast
    words = [well if sure else None for well, sure in zip(within.tolist(), known.tolist(), strict=True)]
    shares = np.minimum(1.0, good / np.maximum(total, 1e-12)).tolist()
    values = [share if some else None for share, some in zip(shares, (total > 0).tolist(), strict=True)]
    starts = [from_unix(measures.store.window_start(window) or 0.0) for window in plan.windows]
    return [
        SignalState.trusted(
            good=word,
            value=value,
            objective=objective,
            samples=samples,
            since=starts[column],
            until=sight.at,
            clients_good=None if whole < 0 else words[whole],
            clients_value=None if whole < 0 else values[whole],
            detail="its source is not fresh" if blind else note,
        )
        for word, value, objective, samples, column, whole, blind, note in zip(
            words,
            values,
            plan.target.tolist(),
            total.tolist(),
            plan.verdict_column.tolist(),
            plan.clients.tolist(),
            dark.tolist(),
            plan.notes(measures),
            strict=True,
        )
    ]


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
        else replace(each, state=SignalState.trusted(**{**vars(each.state), "clients_good": clients}))
        for each in verdicts
    ]
