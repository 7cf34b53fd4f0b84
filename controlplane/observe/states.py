"""What each replica is at this tick: available, stalled, right; and which sources say so.

A hang makes no bad samples: gauges freeze and counters stand still while the health check
is fine. So work in the queue over two scrapes without a step between them is a stall, and
so is a canary that is overdue at a replica which answers its scrapes and was not seen to
move: an engine that moves is slow, perhaps overloaded, but not stalled. What nobody can
see is left out, not called either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from controlplane.model.target import Target
from controlplane.observe.answers import Sorted
from controlplane.observe.library import CANARY, CLUSTER, ENGINE
from controlplane.observe.probes import ProbeBook

PROGRESS = ("steps", "generation_tokens", "prompt_tokens")
"""Counters of which one moves whenever an engine works."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One tick's answers. ``at`` is the evaluated time, ``now`` the tick's, unix seconds."""

    found: Sorted
    probes: ProbeBook
    at: float
    now: float
    old_after: float
    fresh: AbstractSet[str]

    def is_recent(self, replica: Target) -> bool:
        """Tell whether the replica was scraped (or tried) recently enough to speak for now."""
        return self.at - self.found.scraped_at.get(replica, -math.inf) <= self.old_after

    def up(self, replica: Target) -> bool | None:
        if ENGINE not in self.fresh or not self.is_recent(replica):
            return None
        return self.found.up.get(replica)

    def ready(self, replica: Target) -> bool | None:
        """A pod that the cluster's source, when fresh, does not know is not ready."""
        if CLUSTER not in self.fresh:
            return None
        return self.found.gauges.get(("ready", replica), 0.0) > 0


@dataclass(slots=True)
class Verdicts:
    """By indicator and replica: good or not, and for the bad ones the sources that say so."""

    states: dict[str, dict[Target, bool]] = field(default_factory=dict)
    evidence: dict[str, dict[Target, frozenset[str]]] = field(default_factory=dict)

    def note(self, indicator: str, replica: Target, says: Mapping[str, bool]) -> None:
        """Note what each source says of a replica; one that calls it bad is enough for bad."""
        if not says:
            return
        bad = frozenset(source for source, good in says.items() if not good)
        self.states.setdefault(indicator, {})[replica] = not bad
        if bad:
            self.evidence.setdefault(indicator, {})[replica] = bad


_PATIENCE = 0.5
"""Seconds in which an engine that is well has taken up a question; its step takes tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """One scrape of one replica: its time, the sum of its counters of progress, the requests it holds."""

    at: float
    progress: float
    work: float


class ProgressBook:
    """Each replica's last two different scrapes: whether its engine moved between them."""

    def __init__(self) -> None:
        self._last: dict[Target, tuple[Scrape, Scrape | None]] = {}

    def take(self, replica: Target, scrape: Scrape) -> None:
        """Note a scrape; one that is not newer than the last says nothing new."""
        last = self._last.get(replica)
        if last is None or scrape.at > last[0].at:
            self._last[replica] = (scrape, last[0] if last else None)

    def forget(self, replica: Target) -> None:
        """Drop what is known of an engine that shows no counters: it has done nothing yet since it began."""
        self._last.pop(replica, None)

    def moves(self, replica: Target, waiting_since: float | None) -> bool | None:
        """Say whether the engine moved between its last two scrapes; None when it had nothing to do.

        ``waiting_since``: when the canary asked what it has no answer to; work as well, once
        the later scrape is `_PATIENCE` after it.
        """
        now, before = self._last.get(replica, (None, None))
        if now is None or before is None:
            return None
        if now.progress != before.progress:
            return True
        asked = waiting_since is not None and now.at - waiting_since >= _PATIENCE
        return False if asked or (now.work > 0 and before.work > 0) else None


def judge(replicas: Sequence[Target], seen: Seen, progress: ProgressBook) -> Verdicts:
    """Judge every replica of the fleet at this tick."""
    verdicts = Verdicts()
    counted = _progress(seen.found)
    for replica in replicas:
        up, ready = seen.up(replica), seen.ready(replica)
        says = {source: good for source, good in ((ENGINE, up), (CLUSTER, ready)) if good is not None}
        verdicts.note("availability", replica, says)
        canary = seen.probes.replica(replica, seen.now)
        if canary.good is not None:
            verdicts.note("canary", replica, {CANARY: not canary.failing})
        if not up:
            continue
        if replica in counted:
            at = seen.found.scraped_at[replica]
            progress.take(replica, Scrape(at, counted[replica], _work(seen.found, replica)))
        else:
            progress.forget(replica)
        moves = progress.moves(replica, canary.waiting_since)
        works = {} if moves is None else {ENGINE: moves}
        if canary.good is not None and not (canary.overdue and moves):
            works[CANARY] = not canary.overdue
        verdicts.note("stalled", replica, works)
    return verdicts


def _work(found: Sorted, replica: Target) -> float:
    return found.gauges.get(("running", replica), 0.0) + found.gauges.get(("queue", replica), 0.0)


def _progress(found: Sorted) -> dict[Target, float]:
    """Sum each replica's counters of progress: any movement changes the sum."""
    sums: dict[Target, float] = {}
    for readings in found.counters:
        for (measure, target), value in zip(readings.of.groups, readings.values.tolist(), strict=True):
            if measure in PROGRESS and isinstance(target, Target) and not math.isnan(value):
                sums[target] = sums.get(target, 0.0) + value
    return sums
