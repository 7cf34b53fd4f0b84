"""How a probe of the hypothesis did in one phase, judged from the truth of the clients and from plain values.

Nothing here is shared with what the control plane observes or decides with. Where the truth
and the values come from is `chaos.drills.feeds`.
"""

from __future__ import annotations

from collections.abc import Iterable

from chaos.drills.truth import Truth
from controlplane.model.drill import (
    EffectiveShareProbe,
    FailedRequestsProbe,
    FirstTokenProbe,
    PrometheusProbe,
)
from controlplane.model.report import Phase, ProbeReport


def effective_share(
    probe: EffectiveShareProbe, phase: Phase, truth: Truth, moments: Iterable[float]
) -> ProbeReport:
    """Judge the effective share of the probe's window ending at each of ``moments``; the worst counts."""
    shares = [truth.share(end - probe.window, end) for end in moments]
    values = [share.settled for share in shares if share.settled is not None]
    demanded = f"at least {probe.at_least:.0%} over {probe.window:g} s{_whose(probe.tiers)}"
    if not values:
        return ProbeReport(name=probe.name, phase=phase, good=None, tolerance=demanded, detail="no requests")
    worst = min(values)
    return ProbeReport(
        name=probe.name, phase=phase, good=worst >= probe.at_least, value=values[-1], worst=worst,
        tolerance=demanded, samples=len(values),
    )  # fmt: skip


def first_token(probe: FirstTokenProbe, phase: Phase, truth: Truth, start: float, end: float) -> ProbeReport:
    """Judge the longest wait for a first token among the requests planned in [start, end).

    Still waiting, or ended without one, counts as the wait so far. An open request that may
    yet wait too long leaves the answer open.
    """
    rows = truth.between(start, end)
    waits = [row.first_token_wait(truth.now) for row in rows]
    demanded = f"no first token later than {probe.within:g} s{_whose(probe.tiers)}"
    if not waits:
        return ProbeReport(name=probe.name, phase=phase, good=None, tolerance=demanded, detail="no requests")
    worst = max(waits)
    over = sum(wait > probe.within for wait in waits)
    waiting = any(row.outcome == "open" and row.first_token_at is None for row in rows)
    return ProbeReport(
        name=probe.name, phase=phase, good=False if over else None if waiting else True, value=worst,
        worst=worst, tolerance=demanded, samples=len(waits), detail=f"{over} waited longer" if over else "",
    )  # fmt: skip


def failed_requests(
    probe: FailedRequestsProbe, phase: Phase, truth: Truth, start: float, end: float
) -> ProbeReport:
    """Count the requests planned in [start, end) that ended in an error, a time-out or a wrong answer.

    One that is still open may yet end so, and leaves the answer open.
    """
    rows = truth.between(start, end)
    demanded = f"at most {probe.at_most} failed requests"
    if not rows:
        return ProbeReport(name=probe.name, phase=phase, good=None, tolerance=demanded, detail="no requests")
    failed = [row for row in rows if row.failed]
    waiting = any(row.outcome == "open" for row in rows)
    over = len(failed) > probe.at_most
    first = failed[0] if failed else None
    return ProbeReport(
        name=probe.name, phase=phase, good=False if over else None if waiting else True, value=len(failed),
        worst=len(failed), tolerance=demanded, samples=len(rows),
        detail="" if first is None else f"the first: {first.outcome} at {first.replica or first.zone}",
    )  # fmt: skip


def within(probe: PrometheusProbe, phase: Phase, values: Iterable[float | None]) -> ProbeReport:
    """Judge the values that a query gave; without any nobody can tell."""
    low, high = probe.tolerance
    known = [value for value in values if value is not None]
    demanded = f"between {low:g} and {high:g}"
    if not known:
        return ProbeReport(name=probe.name, phase=phase, good=None, tolerance=demanded, detail="no samples")
    worst = max(known, key=lambda value: max(low - value, value - high))
    return ProbeReport(
        name=probe.name, phase=phase, good=low <= worst <= high, value=known[-1], worst=worst,
        tolerance=demanded, samples=len(known),
    )  # fmt: skip


def _whose(tiers: tuple[str, ...]) -> str:
    return f" for {', '.join(tiers)}" if tiers else ""
