"""The hypothesis while a drill runs: queries sampled, probes judged in their phase, stop conditions.

`start_probes` holds before anything is broken; `all_probes` says at the end how each probe did
before, during and after; `stop_reason` ends a drill that harms more than was agreed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from chaos.drills import probes
from chaos.drills.case import Case
from chaos.drills.truth import Truth
from chaos.drills.verdict import WINDOW, Course
from controlplane.kernel.errors import Unavailable
from controlplane.model.drill import (
    EffectiveShareProbe,
    FailedRequestsProbe,
    FirstTokenProbe,
    Probe,
    PrometheusProbe,
)
from controlplane.model.report import Phase, ProbeReport

When = Literal["start", "continuous", "end"]
Values = Mapping[str, Sequence[float | None]]

MAX_VALUES = 600
"""Values of a continuous query that are kept; a longer drill keeps the latest."""


def query_values(case: Case, when: When) -> dict[str, list[float | None]]:
    """Ask every query of the hypothesis that belongs to a phase; raises `Unavailable`."""
    return {
        probe.name: [case.ports.evidence.instant(probe.query)]
        for probe in case.drill.spec.hypothesis.probes
        if isinstance(probe, PrometheusProbe) and when in probe.when
    }


def add_values(known: Values, new: Values) -> dict[str, list[float | None]]:
    """Return both, per probe, oldest first."""
    names = sorted({*known, *new})
    return {name: [*known.get(name, ()), *new.get(name, ())][-MAX_VALUES:] for name in names}


def sample(case: Case, known: Values) -> dict[str, list[float | None]]:
    """Ask the continuous queries once; one that is not answered is a sample without a value."""
    try:
        return add_values(known, query_values(case, "continuous"))
    except Unavailable:
        names = [one.name for one in case.drill.spec.hypothesis.probes if "continuous" in one.when]
        return add_values(known, {name: [None] for name in names if name in known})


def start_probes(case: Case, truth: Truth, values: Values) -> list[ProbeReport]:
    """Judge the probes that must hold before anything is broken."""
    span = case.drill.spec.preconditions.steady_for
    chosen = [probe for probe in case.drill.spec.hypothesis.probes if "start" in probe.when]
    return [_judge(probe, "before", truth, (truth.now - span, truth.now), values) for probe in chosen]


def all_probes(case: Case, truth: Truth, course: Course, values: Mapping[Phase, Values]) -> list[ProbeReport]:
    """Judge every probe in each of its phases, on everything that is known at the end."""
    armed_at = course.armed_at
    injected_at = armed_at if course.injected_at is None else course.injected_at
    ended_at = truth.now if course.ended_at is None else course.ended_at
    spans: dict[When, tuple[Phase, Truth, tuple[float, float]]] = {
        "start": ("before", truth.as_of(armed_at), (course.steady_from, armed_at)),
        "continuous": ("during", truth, (injected_at, ended_at)),
        "end": ("after", truth, (ended_at, ended_at)),
    }
    found = []
    for probe in case.drill.spec.hypothesis.probes:
        for when, (phase, rows, span) in spans.items():
            if when in probe.when:
                found.append(_judge(probe, phase, rows, span, values.get(phase, {})))
    return found


def _judge(
    probe: Probe, phase: Phase, truth: Truth, span: tuple[float, float], values: Values
) -> ProbeReport:
    start, end = span
    match probe:
        case EffectiveShareProbe():
            steps = max(0, int(end - start - probe.window)) if phase == "during" else 0
            moments = [end - back for back in range(steps, -1, -1)]
            return probes.effective_share(probe, phase, truth.of(probe.tiers), moments)
        case FirstTokenProbe():
            first = start if phase == "during" else min(start, end - WINDOW)
            return probes.first_token(probe, phase, truth.of(probe.tiers), first, end)
        case FailedRequestsProbe():
            first = start if phase == "during" else min(start, end - WINDOW)
            return probes.failed_requests(probe, phase, truth, first, end)
        case PrometheusProbe():
            return probes.within(probe, phase, values.get(probe.name, ()))


def stop_reason(case: Case, truth: Truth) -> str | None:
    """Return why the drill must end at once: a halt, or a stop condition that holds for certain."""
    with case.database.reading() as tx:
        for halt in tx.halts.in_force():
            if halt.service in {None, case.service.name}:
                return f"halted by {halt.by}: {halt.reason}"
    for condition in case.drill.spec.stop_conditions:
        share = truth.of(condition.tiers).share(truth.now - condition.for_, truth.now)
        floor = condition.effective_share_below
        if share.high is not None and share.high < floor:
            whose = f" of {', '.join(condition.tiers)}" if condition.tiers else ""
            span = f"under {floor:g} for {condition.for_:g} s"
            return f"the effective share{whose} was {span}: {share.high:.3f} at most"
    return None
