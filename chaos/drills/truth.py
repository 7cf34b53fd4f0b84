"""The clients' own record of what they got, as a judge reads it: rows, windows, shares.

A request is good when it was effective: ended without error, right where it was checked, and
within both latency objectives. A request that is still open is neither good nor bad until no
answer could make it effective any more; so every share has a lower and an upper bound, and
whoever judges says which one is meant. Times are unix seconds, shares 0..1, tokens output tokens.

It reads no network and no clock: who fetches the rows is `chaos.drills.feeds`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal, NamedTuple

from pydantic import ConfigDict

from controlplane.model.base import Model
from controlplane.model.service import Objectives

TELLING = 0.25
"""Seconds from a request's last token until its row says so, at most."""
REFUSED = 429
"""What the gateway answers to who may come again later."""


class Request(Model):
    """One request as the traffic generator tells of it; what is not known (yet) is None."""

    model_config = ConfigDict(**{**Model.model_config, "extra": "ignore"})

    seq: int
    planned_at: float
    sent_at: float
    tier: str = ""
    first_token_at: float | None = None
    ended_at: float | None = None
    outcome: Literal["ok", "error", "timeout", "open"] = "open"
    status: int | None = None
    zone: str | None = None
    replica: str | None = None
    replica_uid: str | None = None
    planned_tokens: int = 0
    tokens: int = 0
    ttft: float | None = None
    tpot: float | None = None
    correct: bool | None = None

    def is_good(self, objectives: Objectives, now: float) -> bool | None:
        """Tell whether it was effective; None while it is open and still could become so."""
        if self.outcome == "open":
            return False if now > self._last_chance(objectives) else None
        if self.outcome != "ok" or self.correct is False or self.ttft is None:
            return False
        return self.ttft <= objectives.ttft and (self.tpot or 0.0) <= objectives.tpot

    @property
    def failed(self) -> bool:
        """Tell whether its client got an error, no end, or a wrong answer."""
        return self.outcome in {"error", "timeout"} or self.correct is False

    def _last_chance(self, objectives: Objectives) -> float:
        """Return the time by which it must have moved on to be effective in the end."""
        first = self.first_token_at
        if first is not None and first - self.sent_at > objectives.ttft:
            return -math.inf
        # A sender may tell of first tokens only at the end: its silence about one says nothing.
        first = self.sent_at + objectives.ttft if first is None else first
        return first + max(0, self.planned_tokens - 1) * objectives.tpot + TELLING

    def first_token_wait(self, now: float) -> float:
        """Return the seconds it waited for its first token: until it came, it ended without, or now."""
        if self.first_token_at is not None:
            return self.first_token_at - self.planned_at
        if self.ended_at is not None:
            return self.ended_at - self.planned_at
        return now - self.planned_at


class Aim(Model):
    """What a fault was aimed at, as it shows in the rows.

    Zones and replicas by name, whatever runs there; ``uids``, where another incarnation is well.
    """

    zones: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()
    uids: tuple[str, ...] = ()

    def is_hit_by(self, request: Request, *, good: bool | None) -> bool | None:
        """Tell whether the request went to the target; None while an open one has not said where it is.

        A request that ended without saying counts as a hit, unless its client got what it asked for or
        was refused by the gateway. What was aimed at no part of the fleet is hit by nobody.
        """
        if not (self.zones or self.replicas or self.uids):
            return False
        if request.zone in self.zones or request.replica in self.replicas:
            return True
        if request.replica_uid in self.uids:
            return True
        if request.zone is not None or request.status == REFUSED:
            return False
        return None if request.outcome == "open" else good is not True


@dataclass(frozen=True, slots=True)
class Share:
    """How many requests of a window were good, bad, or are still open."""

    good: int
    bad: int
    open: int

    @property
    def total(self) -> int:
        return self.good + self.bad + self.open

    @property
    def low(self) -> float | None:
        """The effective share if every open request ends badly; None without requests."""
        return self.good / self.total if self.total else None

    @property
    def high(self) -> float | None:
        """The effective share if every open request ends well."""
        return (self.good + self.open) / self.total if self.total else None

    @property
    def settled(self) -> float | None:
        """The effective share of the requests whose end is known."""
        return self.good / (self.good + self.bad) if self.good + self.bad else None


class Tokens(NamedTuple):
    """Output tokens of a window: effective ones; planned by requests whose end is known; planned by all."""

    effective: int
    settled: int
    planned: int


class Times:
    """Sorted moments that can be counted in [start, end) in logarithmic time."""

    def __init__(self, moments: Iterable[float]) -> None:
        self.moments = sorted(moments)

    def count(self, start: float, end: float) -> int:
        return bisect_left(self.moments, end) - bisect_left(self.moments, start)


class Truth:
    """The requests of a stretch of time as known at ``now``, in the order they were planned."""

    def __init__(
        self, requests: Iterable[Request], *, now: float, objectives: Objectives | None = None
    ) -> None:
        self.now = now
        self.objectives = objectives or Objectives()
        self.requests: Sequence[Request] = sorted(requests, key=lambda one: (one.planned_at, one.seq))
        self.goods = [one.is_good(self.objectives, now) for one in self.requests]
        self._planned = [one.planned_at for one in self.requests]
        self._good = list(accumulate((good is True for good in self.goods), initial=0))
        self._bad = list(accumulate((good is False for good in self.goods), initial=0))

    def as_of(self, moment: float) -> Truth:
        """Return what was known at ``moment``: requests that ended later are still open in it."""
        known = known_at(moment, self.requests)
        return Truth(known, now=min(moment, self.now), objectives=self.objectives)

    def of(self, tiers: Collection[str]) -> Truth:
        """Return the requests of some tiers of clients alone; without any name, all."""
        if not tiers:
            return self
        chosen = [one for one in self.requests if one.tier in tiers]
        return Truth(chosen, now=self.now, objectives=self.objectives)

    def refused(self, start: float, end: float) -> dict[str, int]:
        """Return how many requests planned in [start, end) were answered 429, by tier."""
        return dict(Counter(one.tier for one in self.between(start, end) if one.status == REFUSED))

    def _bounds(self, start: float, end: float) -> tuple[int, int]:
        return bisect_left(self._planned, start), bisect_left(self._planned, end)

    def between(self, start: float, end: float) -> Sequence[Request]:
        """Return the requests that were planned in [start, end)."""
        first, last = self._bounds(start, end)
        return self.requests[first:last]

    def share(self, start: float, end: float) -> Share:
        """Return how the requests planned in [start, end) fared."""
        first, last = self._bounds(start, max(start, end))
        good, bad = self._good[last] - self._good[first], self._bad[last] - self._bad[first]
        return Share(good, bad, last - first - good - bad)

    def tokens(self, start: float, end: float) -> Tokens:
        """Return the output tokens of the requests planned in [start, end)."""
        first, last = self._bounds(start, end)
        chosen = list(zip(self.requests[first:last], self.goods[first:last], strict=True))
        return Tokens(
            effective=sum(one.tokens for one, good in chosen if good),
            settled=sum(one.planned_tokens for one, good in chosen if good is not None),
            planned=sum(one.planned_tokens for one, _ in chosen),
        )

    def hits(self, aim: Aim) -> tuple[Times, Times]:
        """Return when requests were sent to the target: for certain, and perhaps (not said yet)."""
        certain, perhaps = [], []
        for one, good in zip(self.requests, self.goods, strict=True):
            hit = aim.is_hit_by(one, good=good)
            if hit:
                certain.append(one.sent_at)
            elif hit is None:
                perhaps.append(one.sent_at)
        return Times(certain), Times(perhaps)

    def sent_by_zone(self) -> dict[str, Times]:
        """Return when requests were sent to each zone that shows in the rows."""
        moments: dict[str, list[float]] = {}
        for one in self.requests:
            if one.zone is not None:
                moments.setdefault(one.zone, []).append(one.sent_at)
        return {zone: Times(times) for zone, times in moments.items()}

    def longest_gap(self, start: float, end: float) -> float:
        """Return the longest stretch of [start, end] in which no request was planned; seconds."""
        moments = [start, *(one.planned_at for one in self.between(start, end)), max(start, end)]
        return max(later - earlier for earlier, later in pairwise(moments))

    def lateness(self, start: float, end: float, quantile: float = 0.99) -> float | None:
        """Return how late requests were sent after their planned time, at a quantile; seconds."""
        late = sorted(one.sent_at - one.planned_at for one in self.between(start, end))
        return late[min(len(late) - 1, math.ceil(quantile * len(late)) - 1)] if late else None


def known_at(moment: float, requests: Iterable[Request]) -> list[Request]:
    """Return what was known of requests at ``moment``: those that ended later are still open."""
    later = {"outcome": "open", "ended_at": None, "first_token_at": None}
    return [
        one if one.ended_at is None or one.ended_at <= moment else one.model_copy(update=later)
        for one in requests
        if one.sent_at <= moment
    ]
