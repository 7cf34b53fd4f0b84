"""The verdict of a drill, from the clients' own record and nothing else.

Pure: rows in, judgement out; the same rows give the same judgement whoever asks, and whenever.
What the control plane says of itself (incidents, runs) is reported elsewhere and never enough.

* `mitigation`: start of the first 10 s with no new request to the target and an effective share
  of at least 0.95, of the tiers of clients that the drill names or of all. Only windows that end before
  the fault was taken back count.
* `recovery`: start of the first 10 s, with the original weights, in which every zone gets new
  requests in about its share from before, and the effective share is at least 0.95.
* `judge`: aborted, else inconclusive (the truth cannot carry a verdict), else failed, else passed.

Times are unix seconds, shares 0..1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from chaos.drills.truth import Aim, Truth
from controlplane.model.report import DrillVerdict

WINDOW = 10.0
"""Seconds that mitigation and recovery must hold to count."""
ENOUGH = 0.95
"""Effective share at which the clients are served."""
MAX_GAP = 5.0
"""Seconds without a row of truth, over which nobody can tell."""
MAX_LATENESS = 0.100
"""Seconds that arrivals may be late at p99; later ones measure the generator, not the service."""
KEPT_WINDOW = 120.0
"""Seconds from the injection over which the kept tokens are counted."""
REGAINED = 0.6
"""Part of its former share of new requests at which a zone has its traffic back. With 105 requests
in 10 s and three zones, a fair third is 2.9 standard deviations above, a quarter's weight 2.9 below."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When something began to hold, as far as the rows tell.

    ``at``: it holds from here for certain. ``earliest``: before this it certainly does not; what
    lies between may turn out either way once open requests have ended.
    """

    at: float | None
    earliest: float

    @property
    def is_known(self) -> bool:
        return self.at is not None and self.at <= self.earliest


def mitigation(truth: Truth, aim: Aim, *, since: float, until: float, tiers: Collection[str] = ()) -> Moment:
    """Find the start of the first `WINDOW` in [since, until] without a new request to the target.

    A window without any request is no evidence: nothing was served, nothing can be told. With ``tiers``
    their clients must be served, and whether those of the others are does not count.
    """
    certain, perhaps = truth.hits(aim)
    clients = truth.of(tiers)

    def holds(start: float) -> bool | None:
        end = start + WINDOW
        if certain.count(start, end):
            return False
        served = _is_served(clients, start, end)
        return None if served and perhaps.count(start, end) else served

    return _first(truth, holds, since=since, until=until, also=[*certain.moments, *perhaps.moments])


def recovery(truth: Truth, before: Mapping[str, float], *, since: float, until: float) -> Moment:
    """Find the start of the first `WINDOW` in [since, until] that is as it was before.

    ``before`` holds each zone's share of new requests before the fault; ``since`` is when the
    original weights stood again.
    """
    sent = truth.sent_by_zone()

    def holds(start: float) -> bool | None:
        end = start + WINDOW
        served = _is_served(truth, start, end)
        if served is False or end > truth.now:
            return served
        total = truth.share(start, end).total
        for zone, share in before.items():
            mine = sent[zone].count(start, end) if zone in sent else 0
            if mine < REGAINED * share * total:
                return False
        return served

    moments = [moment for times in sent.values() for moment in times.moments]
    return _first(truth, holds, since=since, until=until, also=moments)


def _is_served(truth: Truth, start: float, end: float) -> bool | None:
    if end > truth.now:
        return None
    share = truth.share(start, end)
    if share.low is None or share.high is None or share.high < ENOUGH:
        return False
    return True if share.low >= ENOUGH else None


def _first(
    truth: Truth, holds: Callable[[float], bool | None], *, since: float, until: float, also: list[float]
) -> Moment:
    earliest: float | None = None
    last = min(until, truth.now)
    for start in _starts(truth, since, last, also):
        answer = holds(start)
        if answer is False:
            continue
        earliest = start if earliest is None else earliest
        if answer and start + WINDOW <= until:
            return Moment(start, earliest)
    return Moment(None, last if earliest is None else earliest)


def _starts(truth: Truth, since: float, until: float, also: list[float]) -> Iterator[float]:
    """Every moment at which what a window holds changes: where one leaves it, where one enters it."""
    moments = {one.planned_at for one in truth.between(since - WINDOW, until + WINDOW)}
    moments |= set(also)
    edges = {math.nextafter(moment, math.inf) for moment in moments}
    edges |= {math.nextafter(moment - WINDOW, math.inf) for moment in moments}
    yield from sorted({since, *(edge for edge in edges if since < edge <= until)})


@dataclass(frozen=True, slots=True)
class Course:
    """How a drill went, in times: what `judge` is told beside the rows.

    ``steady_from`` to ``armed_at`` is the stretch before, judged on what was known at its end: what
    the fault broke later was not broken before. ``judged_at``: when the fault was about to be taken
    back; later windows do not count as mitigation. ``restored_from``: since when the original
    weights stand again and the fault is clear. ``tiers``: whose service is mitigation, all without one.
    In sentences: ``unready``, why nothing was injected; ``broken``, what the hypothesis' probes found;
    ``leftovers``, what still stands.
    """

    aim: Aim
    within: float
    restored_within: float
    steady_from: float
    armed_at: float
    tiers: tuple[str, ...] = ()
    injected_at: float | None = None
    judged_at: float | None = None
    restored_from: float | None = None
    ended_at: float | None = None
    zone_shares: Mapping[str, float] | None = None
    unready: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()
    aborted: str | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """Effective tokens in `KEPT_WINDOW` from the injection, against what would have been."""

    effective: float
    expected: float
    baseline: Literal["planned", "sameSeed"]

    @property
    def ratio(self) -> float | None:
        return self.effective / self.expected if self.expected else None


def tokens_kept(
    truth: Truth, course: Course, *, planned: float | None = None, same_seed: float | None = None
) -> Kept | None:
    """Count the tokens of requests by their planned arrival.

    ``planned``: the plan's own count for the window, arrivals never sent included; without it the
    rows' count. ``same_seed``: effective tokens of the same window in a run without a fault, which
    is the better baseline where there is one. None when nothing was injected.
    """
    if course.injected_at is None:
        return None
    window = truth.tokens(course.injected_at, course.injected_at + KEPT_WINDOW)
    if same_seed is not None:
        return Kept(window.effective, same_seed, "sameSeed")
    before = truth.as_of(course.armed_at).tokens(course.steady_from, course.armed_at)
    share = before.effective / before.settled if before.settled else 0.0
    return Kept(window.effective, max(window.planned, planned or 0.0) * share, "planned")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, why, and the times that were measured."""

    verdict: DrillVerdict
    reasons: tuple[str, ...]
    mitigated_at: float | None = None
    recovered_at: float | None = None


def judge(truth: Truth, course: Course) -> Judgement:
    """Judge a drill whose fault was taken back (or never injected)."""
    injected_at = course.injected_at
    if injected_at is None:
        verdict = DrillVerdict.ABORTED if course.aborted else DrillVerdict.INCONCLUSIVE
        reasons = (course.aborted,) if course.aborted else course.unready
        return Judgement(verdict, (*(reasons or ("no fault was seen to take effect",)), *_standing(course)))
    judged_at = truth.now if course.judged_at is None else course.judged_at
    mitigated = mitigation(truth, course.aim, since=injected_at, until=judged_at, tiers=course.tiers).at
    recovered = _recovered_at(truth, course, mitigated)
    doubts = doubts_about(truth, course)
    faults = _shortcomings(course, injected_at, mitigated, recovered)
    if course.aborted:
        return Judgement(DrillVerdict.ABORTED, (course.aborted, *_standing(course)), mitigated, recovered)
    if doubts:
        return Judgement(DrillVerdict.INCONCLUSIVE, (*doubts, *_standing(course)), mitigated, recovered)
    if faults:
        return Judgement(DrillVerdict.FAILED, faults, mitigated, recovered)
    took = 0.0 if mitigated is None else mitigated - injected_at
    praise = f"mitigated {_seconds(took)} after injection, {_seconds(course.within)} were allowed"
    return Judgement(DrillVerdict.PASSED, (praise,), mitigated, recovered)


def doubts_about(truth: Truth, course: Course) -> tuple[str, ...]:
    """List why the truth cannot carry a verdict; empty when it can."""
    found = []
    before = share_before(truth, course)
    if before is None:
        found.append("there was no traffic before the injection, so no steady state")
    elif before < ENOUGH:
        found.append(f"no steady state before: the effective share was {before:.3f}, {ENOUGH} is needed")
    end = truth.now if course.ended_at is None else min(course.ended_at, truth.now)
    gap = truth.longest_gap(course.steady_from, end)
    if gap > MAX_GAP:
        found.append(f"the truth has a gap of {_seconds(gap)}, at most {_seconds(MAX_GAP)} are allowed")
    late = truth.lateness(course.steady_from, end)
    if late is not None and late > MAX_LATENESS:
        most = _seconds(MAX_LATENESS)
        found.append(f"arrivals were {_seconds(late)} late at p99, at most {most} are allowed")
    return tuple(found)


def share_before(truth: Truth, course: Course) -> float | None:
    """Return the effective share of the stretch before the fault, as known when the fault was armed."""
    return truth.as_of(course.armed_at).share(course.steady_from, course.armed_at).settled


def _recovered_at(truth: Truth, course: Course, mitigated: float | None) -> float | None:
    if course.restored_from is None:
        return None
    since = course.restored_from if mitigated is None else max(course.restored_from, mitigated)
    until = truth.now if course.ended_at is None else course.ended_at
    return recovery(truth, course.zone_shares or {}, since=since, until=until).at


def _shortcomings(
    course: Course, injected_at: float, mitigated: float | None, recovered: float | None
) -> tuple[str, ...]:
    found = []
    if mitigated is None:
        found.append(f"not mitigated: no {_seconds(WINDOW)} without new requests to the target at {ENOUGH}")
    elif mitigated - injected_at > course.within:
        took = _seconds(mitigated - injected_at)
        found.append(f"mitigated {took} after injection, {_seconds(course.within)} were allowed")
    found += course.broken
    if recovered is None:
        found.append(f"not back to full service within {_seconds(course.restored_within)}")
    return (*found, *_standing(course))


def _standing(course: Course) -> tuple[str, ...]:
    return tuple(f"left standing: {one}" for one in course.leftovers)


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value < 1 else f"{round(value, 1):g} s"
