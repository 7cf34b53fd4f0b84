"""What is kept of a backtest beside its incidents: what was seen, how bad it got, and what nearly fired.

Each signal's nearness is the share of what it takes that was reached: of the bad events that the fast tier
asks for, of a burn rate's factor, of a threshold. It begins to count at three quarters, and is over when it
falls under half, or when nothing is heard of it any more. Where something fired about the same place
meanwhile, it was no near miss.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np

from controlplane.controller.tick import Conclusion
from controlplane.decide import burn
from controlplane.decide.plan import tier_ask
from controlplane.model.records import Incident
from controlplane.model.signals import Verdict
from controlplane.model.slo import Slo
from controlplane.model.target import Signal
from controlplane.model.triggers.threshold import THRESHOLD
from controlplane.observe.measures import Measures

NEAR, OVER = 0.75, 0.5
"""Shares of what it takes at which a near miss begins, and ends."""
BURNS_EVERY = timedelta(minutes=5)
"""How often burn rates are looked at for it: their windows are minutes and hours."""
LAPSES = 2 * BURNS_EVERY
"""After so long without a word on how near it is, a near miss is over too: what comes next is another."""


@dataclass(frozen=True, slots=True)
class Reached:
    """How near a signal came by one way of firing: a share of what it takes, and the two values."""

    signal: Signal
    way: str
    share: float
    value: float | None
    needed: float


@dataclass(slots=True)
class NearMiss:
    """A time in which a signal was near to firing. ``fired``: it did, or something around it."""

    peak: Reached
    since: datetime
    until: datetime
    at: datetime
    fired: bool = False


@dataclass(slots=True)
class Gap:
    """A time in which a source that decisions rest on was not fresh: up to the look at which it was again."""

    source: str
    since: datetime
    until: datetime
    detail: str


@dataclass(slots=True)
class Witness:
    """Of one service; asked for what it saw when all is over."""

    measures: Measures
    ticks: int = 0
    seen: int = 0
    """Ticks at which everything that decisions rest on was fresh."""
    gaps: list[Gap] = field(default_factory=list)
    worst: dict[str, float] = field(default_factory=dict)
    """By incident: the value that was furthest on the bad side."""
    misses: list[NearMiss] = field(default_factory=list)
    _dark: dict[str, Gap] = field(default_factory=dict)
    _near: dict[tuple[Signal, str], NearMiss] = field(default_factory=dict)
    _burned_at: datetime | None = None

    def see(self, concluded: Conclusion, incidents: Sequence[Incident], now: datetime) -> None:
        """Take a tick into account."""
        self.ticks += 1
        self._watch_sources(concluded, now)
        verdicts = concluded.every()
        by_signal = {verdict.signal: verdict for verdict in verdicts} if incidents else {}
        for incident in incidents:
            self._note_worst(incident, by_signal.get(Signal.parse(incident.signal)))
        slos = {slo.name: slo for slo in concluded.slos}
        reached = [found for verdict in verdicts if (found := _reached(verdict, slos)) is not None]
        if self._burned_at is None or now - self._burned_at >= BURNS_EVERY:
            self._burned_at = now
            reached += self._burns(concluded.slos, verdicts)
        self._approach(reached, incidents, now)

    def close(self) -> list[NearMiss]:
        """Return the near misses, the nearest first."""
        for key in list(self._near):
            self._end(key)
        return sorted(self.misses, key=lambda each: (-each.peak.share, each.since))

    def _watch_sources(self, concluded: Conclusion, now: datetime) -> None:
        dark = {each.name: each for each in concluded.sources if each.state != "fresh"}
        self.seen += not dark
        for name, state in dark.items():
            gap = self._dark.get(name)
            if gap is None:
                gap = self._dark[name] = Gap(name, now, now, state.detail or state.state)
                self.gaps.append(gap)
        for gap in self._dark.values():
            gap.until = now
        self._dark = {name: gap for name, gap in self._dark.items() if name in dark}

    def _note_worst(self, incident: Incident, verdict: Verdict | None) -> None:
        if verdict is None or not verdict.bad or verdict.state.value is None:
            return
        before, bound = self.worst.get(incident.id), verdict.state.objective
        value = verdict.state.value
        if before is None or abs(value - bound) > abs(before - bound):
            self.worst[incident.id] = value

    def _burns(self, every: Sequence[Slo], verdicts: Sequence[Verdict]) -> Iterator[Reached]:
        """Hold each burn-rate tier at each target against its factor, as it is judged."""
        slos = [slo for slo in every if slo.spec.burn_tiers]
        places = [(slo, verdict) for slo in slos for verdict in verdicts if _is_of(verdict, slo)]
        if not places:
            return
        tiers = [tier for slo in slos for tier in slo.spec.burn_tiers]
        windows = sorted({window for tier in tiers for window in (tier.long, tier.short)})
        asks = [tier_ask(slo, verdict.signal.target) for slo, verdict in places]
        counts = self.measures.counts(asks, windows)
        goals = np.array([[slo.spec.target] for slo, _ in places])
        seen = self.measures.observed(asks, windows) / np.array(windows)
        rates = burn.burn_rate(counts.good, counts.total, goals, seen)
        for row, (slo, verdict) in enumerate(places):
            for tier in slo.spec.burn_tiers:
                long, short = windows.index(tier.long), windows.index(tier.short)
                if counts.total[row, long] >= slo.spec.min_events and not verdict.blind:
                    rate = float(min(rates[row, long], rates[row, short]))
                    yield Reached(verdict.signal, tier.name, rate / tier.factor, rate, tier.factor)

    def _approach(self, reached: Sequence[Reached], incidents: Sequence[Incident], now: datetime) -> None:
        for key in [key for key, known in self._near.items() if now - known.until > LAPSES]:
            self._end(key)
        firing = [Signal.parse(each.signal) for each in incidents if each.fired_at is not None]
        for found in reached:
            key = (found.signal, found.way)
            known = self._near.get(key)
            if known is None and found.share < NEAR:
                continue
            if found.share < OVER:
                self._end(key)
                continue
            if known is None:
                known = self._near[key] = NearMiss(found, now, now, now)
            known.until = now
            if found.share > known.peak.share:
                known.peak, known.at = found, now
            known.fired = known.fired or any(_is_about(found.signal, signal) for signal in firing)

    def _end(self, key: tuple[Signal, str]) -> None:
        known = self._near.pop(key)
        if not known.fired:
            self.misses.append(known)


def _reached(verdict: Verdict, slos: Mapping[str, Slo]) -> Reached | None:
    """Return how near a verdict of this tick came, None where it says nothing of that."""
    signal, state = verdict.signal, verdict.state
    if verdict.blind or state.value is None:
        return None
    slo = slos.get(signal.name) if signal.kind == "slo" else None
    if slo is not None:
        fast = slo.spec.fast
        if fast is None or state.samples < fast.min_samples:
            return None
        share = (1.0 - state.value) / (1.0 - fast.below) if fast.below < 1 else 0.0
        return Reached(signal, "fast", share, state.value, fast.below)
    if signal.kind == THRESHOLD:
        above = ">" in signal.name
        whole, part = (state.objective, state.value) if above else (state.value, state.objective)
        share = part / whole if whole > 0 else float(verdict.bad)  # of nothing there is no share
        return Reached(signal, THRESHOLD, share, state.value, state.objective)
    return Reached(signal, signal.kind, float(verdict.bad), state.value, state.objective)


def _is_of(verdict: Verdict, slo: Slo) -> bool:
    return verdict.signal.kind == "slo" and verdict.signal.name == slo.name


def _is_about(one: Signal, other: Signal) -> bool:
    """Tell whether two signals say the same of the same place, or of one inside the other."""
    same = (one.kind, one.name) == (other.kind, other.name)
    return same and one.target.overlaps(other.target)
