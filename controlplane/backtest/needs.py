"""What has to be read of the past for some documents: histograms as far as somebody looks at them.

A histogram is most of what an engine exports, and of a latency objective only the bucket at its
threshold counts. So histograms that nobody asks about are left out, and of the others only those
buckets are read, unless somebody wants a percentile. What is judged stays the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from controlplane.backtest.span import Span
from controlplane.model.playbook import Playbook
from controlplane.model.service import Service
from controlplane.model.slo import Slo
from controlplane.observe.archive import Archive
from controlplane.observe.buckets import snap
from controlplane.observe.catalogue import catalogue
from controlplane.observe.library import LATENCIES
from controlplane.observe.profile import MEASURES, Profile, queries

Needs = Mapping[str, frozenset[float] | None]
"""By histogram: the thresholds that are asked about, None for all of it."""

_ESTIMATE = "etpm_estimate"


def needs_of(slos: Iterable[Slo], playbooks: Iterable[Playbook]) -> Needs:
    """Return which histograms these documents look at, and where."""
    found: dict[str, frozenset[float] | None] = {}
    for slo in slos:
        name, threshold = slo.spec.indicator, slo.spec.threshold
        if isinstance(name, str) and name in LATENCIES and threshold is not None:
            found[name] = (found.get(name) or frozenset()) | {threshold}
    for playbook in playbooks:
        for trigger in playbook.spec.triggers:
            for indicator in (getattr(trigger, "indicator", None), getattr(trigger, "of", None)):
                found |= dict.fromkeys(_histograms(str(indicator)))
    return found


def _histograms(indicator: str) -> set[str]:
    """Return the histograms that an indicator of the library may rest on."""
    names = {indicator.removesuffix("_p95")}
    for sli in catalogue().indicators:
        reads = {sli.name, *(way.reads for way in sli.ways)}
        if indicator in reads:
            names |= {need for way in sli.ways for need in way.needs}
    if indicator == _ESTIMATE:
        names |= {"ttft", "tpot", "itl"}
    return {name for name in names if MEASURES.get(name) == "histogram"}


def reduced(profiles: Mapping[str, Profile], needs: Needs) -> dict[str, Profile]:
    """Return the profiles without the histograms that nobody looks at."""
    return {
        name: profile.model_copy(
            update={
                "measures": {
                    key: measure
                    for key, measure in profile.measures.items()
                    if measure.type != "histogram" or key in needs
                }
            }
        )
        for name, profile in profiles.items()
    }


def narrowed(
    archive: Archive, service: Service, profiles: Iterable[Profile], needs: Needs, span: Span
) -> dict[str, str]:
    """Return by a query's name what is asked in its place: only the buckets that are looked at.

    The bounds are those that the series had in the span, spelled as they are; a threshold between two
    of them is snapped as the loop does.
    """
    found: dict[str, str] = {}
    for profile in profiles:
        for query in queries(profile, service):
            measure = next((named.measure for named in query.measures.values()), "")
            thresholds = needs.get(measure)
            if MEASURES.get(measure) != "histogram" or thresholds is None:
                continue
            scale = profile.measures[measure].scale
            texts = archive.labels("le", query.selector, span.start, span.end)
            wanted = _wanted({text: float(text) * scale for text in texts}, thresholds)
            if wanted:
                le = "|".join(re.escape(text).replace("\\", "\\\\") for text in wanted)
                inside = f'{query.selector[:-1]}, le=~"{le}"}}'
                found[query.name] = query.promql.replace(query.selector, inside)
    return found


def _wanted(bounds: Mapping[str, float], thresholds: frozenset[float]) -> list[str]:
    """Return the spellings of the bounds that stand in for the thresholds, and of the open one."""
    if not bounds:
        return []
    values = set(bounds.values())
    kept = {snap(values, threshold) for threshold in thresholds} | {float("inf")}
    return sorted(text for text, bound in bounds.items() if bound in kept)
