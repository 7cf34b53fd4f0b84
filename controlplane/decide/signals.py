"""Signals: each objective at each target, good, bad or unknown at this tick, and which tiers fire.

All of them are judged in one pass over arrays (`controlplane.decide.plan`); written out one by one are
those with which something is, and for people the others. A verdict rests on a
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
from controlplane.model.target import Signal, Target
from controlplane.observe.library import CANARY, ENGINE, GATEWAY, STATES, sources_of
from controlplane.observe.measures import Counts, Measures
from controlplane.observe.windows import Ints

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


def judge(slos: Sequence[Slo], targets: Sequence[Target], measures: Measures, sight: Sight) -> list[Verdict]:
    """Judge every SLO at every target of its levels, and at its service, whose clients all share."""
    found = weigh(Plan(slos, targets), measures, sight)
    return [*found.told, *found.calm()]


def weigh(plan: Plan, measures: Measures, sight: Sight, open_signals: Collection[str] = ()) -> Judged:
    """Judge the rows of a plan; ``open_signals`` are those of open incidents."""
    board = _board(plan, measures, sight)
    stirred = np.zeros(len(plan.names), dtype=bool)
    stirred[plan.number[board.fires_at_all]] = True
    for name in {signal.name for signal in map(Signal.parse, open_signals) if signal.kind == "slo"}:
        if name in plan.names:
            stirred[plan.names[name]] = True
    told = (stirred[plan.number] | plan.awaited) & plan.judged
    return Judged(_tell(plan, board, told, sight), _clients(plan, board), _Rest(plan, board, ~told, sight))


@dataclass(frozen=True, slots=True)
class Judged:
    """What one tick says of every objective everywhere.

    ``told`` are the verdicts on objectives with which something is, somewhere, or which somebody waits
    for: all that decisions are made of. ``clients``: whether the clients are well by all that can say.
    """

    told: list[Verdict]
    clients: bool | None
    _rest: _Rest

    def calm(self) -> list[Verdict]:
        """Return the other verdicts, which take time to write out."""
        return _tell(
            self._rest.plan, self._rest.board, self._rest.rows & self._rest.plan.judged, self._rest.sight
        )


@dataclass(frozen=True, slots=True)
class _Rest:
    plan: Plan
    board: _Board
    rows: burn.Bools
    sight: Sight


@dataclass(frozen=True, slots=True)
class _Board:
    """The numbers of one tick, a value for each row, of the verdict's window; ``fires``: of each tier.

    ``known``: enough was seen for a verdict. ``fires_at_all`` leaves out what nobody may see or tells.
    """

    good: burn.Floats
    total: burn.Floats
    known: burn.Bools
    within: burn.Bools
    dark: burn.Bools
    fast: burn.Bools
    fires: burn.Bools
    fires_at_all: burn.Bools
    starts: Sequence[datetime]
    notes: Sequence[str]


def _board(plan: Plan, measures: Measures, sight: Sight) -> _Board:
    counts, every = measures.counts(plan.questions, plan.windows), np.arange(len(plan.signals))
    good, total = counts.good[every, plan.verdict_column], counts.total[every, plan.verdict_column]
    covered = np.array([measures.store.covered(window) / window for window in plan.windows])
    seen = covered[plan.verdict_column] > LEAST_SEEN if plan.windows else every > 0
    dark = np.array([sight.is_blind(measure, level) for measure, level in plan.kinds], dtype=bool)[plan.kind]
    fast = burn.fast_fires(good, total, plan.fast_below, plan.fast_least) & seen
    fires = _tiers(plan, measures, counts)
    least = np.minimum(plan.min_events, plan.fast_least)
    return _Board(
        good,
        total,
        known=(total >= least) & (total > 0) & seen & ~dark,
        within=burn.is_within(good, total, plan.target) & ~fast,
        dark=dark,
        fast=fast,
        fires=fires,
        fires_at_all=(fast | fires.any(axis=1)) & plan.judged & ~dark,
        starts=[from_unix(measures.store.window_start(window) or 0.0) for window in plan.windows],
        notes=plan.notes(measures),
    )


def _tiers(plan: Plan, measures: Measures, counts: Counts) -> burn.Bools:
    """Tell for each row and tier whether it fires."""
    rows, tier = plan.tier_rows, np.arange(len(plan.signals))[:, None]
    observed = measures.observed(plan.questions, plan.windows)[rows] / np.array(plan.windows)
    events = counts.total[rows]
    rates = burn.burn_rate(counts.good[rows], events, plan.target[:, None], observed)
    long, short = rates[tier, plan.tier_long], rates[tier, plan.tier_short]
    enough = plan.min_events[:, None]
    return burn.tier_fires(long, short, events[tier, plan.tier_long], plan.tier_factor, enough)


def _clients(plan: Plan, board: _Board) -> bool | None:
    """Tell whether the clients of the service are well by all objectives that can say; None when none can."""
    rows = np.unique(plan.clients[plan.judged & (plan.clients >= 0)])
    rows = rows[board.known[rows]]
    return bool(board.within[rows].all()) if rows.size else None


def _tell(plan: Plan, board: _Board, told: burn.Bools, sight: Sight) -> list[Verdict]:
    """Write out the verdicts of some rows."""
    rows = np.nonzero(told)[0]
    words, values = _words(board, rows), _values(board, rows)
    wholes, whole_values = _words(board, plan.clients[rows]), _values(board, plan.clients[rows])
    columns, darks = plan.verdict_column[rows].tolist(), board.dark[rows].tolist()
    targets, totals = plan.target[rows].tolist(), board.total[rows].tolist()
    found = []
    for i, row in enumerate(rows.tolist()):
        state = SignalState.trusted(
            good=words[i],
            value=values[i],
            objective=targets[i],
            samples=totals[i],
            since=board.starts[columns[i]],
            until=sight.at,
            clients_good=wholes[i],
            clients_value=whole_values[i],
            detail="its source is not fresh" if darks[i] else board.notes[row],
        )
        signal = plan.signals[row]
        if board.fires_at_all[row]:
            found.append(Verdict(signal, state, *_firing(plan, board, row, sight)))
        else:
            found.append(Verdict(signal, state, blind=darks[i]))
    return found


def _words(board: _Board, rows: Ints) -> list[bool | None]:
    """Return for each of these rows whether it is well, None where too little is known; -1 is no row."""
    known = board.known[rows] & (rows >= 0)
    pairs = zip(board.within[rows].tolist(), known.tolist(), strict=True)
    return [well if sure else None for well, sure in pairs]


def _values(board: _Board, rows: Ints) -> list[float | None]:
    """Return the good share of each of these rows, None without events."""
    total = board.total[rows]
    shares = np.minimum(1.0, board.good[rows] / np.maximum(total, 1e-12))
    pairs = zip(shares.tolist(), ((total > 0) & (rows >= 0)).tolist(), strict=True)
    return [share if some else None for share, some in pairs]


def _firing(plan: Plan, board: _Board, row: int, sight: Sight) -> tuple[tuple[str, ...], str, frozenset[str]]:
    """Return the tiers that fire at a row, the severity of the first, and who accuses."""
    tiers = [(FAST, "page")] if board.fast[row] else []
    over = board.fires[row].tolist()
    tiers += [tier for tier, fires in zip(plan.tier_names[row], over, strict=False) if fires]
    accusers = sight.accusers(plan.slos[row].spec.measure, plan.signals[row].target)
    return tuple(name for name, _ in tiers), tiers[0][1], accusers


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


def with_clients(verdicts: Sequence[Verdict], *, clients: bool | None) -> list[Verdict]:
    """Add to each verdict that is not of an objective what the objectives say of the clients."""
    return [
        each
        if clients is None or each.signal.kind == "slo"
        else replace(each, state=SignalState.trusted(**{**vars(each.state), "clients_good": clients}))
        for each in verdicts
    ]
