"""Sloth's specs (``prometheus/v1`` and the Kubernetes kind) as SLOs.

Sloth's budget is the mean of five-minute shares and it asks for no least number of events; the SLO says
the same (`budgeting`, `minEvents`), so that the rules exported from it are Sloth's.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from controlplane.model.burn_tiers import usual_tiers
from controlplane.observe.importers.promql_text import from_go
from controlplane.observe.importers.reading import Made, Reader, Unmapped, our_document, percent, slugged


def read_sloth(top: Reader, window: float, written: str) -> Iterator[Made]:
    """Yield an SLO for each of the spec's; ``written`` is the window as it was given."""
    kubernetes = "apiVersion" in top
    if kubernetes:
        top.take("apiVersion")
        top.take("kind")
        metadata = top.inside("metadata")
        metadata.take("name")
        spec = top.inside("spec")
    else:
        top.take("version")
        spec = top
    service = spec.text("service")
    if slugged(service) != service:
        spec.lose(f"the service `{service}` is written `{slugged(service)}` here", "service")
    labels = spec.texts("labels")
    for slo in spec.each("slos"):
        yield from slo.notes.attempt(partial(_slo, slo, service, labels, (window, written)))


def _slo(slo: Reader, service: str, labels: dict[str, str], window: tuple[float, str]) -> Made:
    target = percent(slo.text("objective"), (*slo.path, "objective"))
    spec: Made = {
        "service": slugged(service),
        "indicator": _indicator(slo.inside("sli"), slo),
        "target": target,
        "window": {"rolling": window[1]},
        "by": ["service"],
        "minEvents": 0,
        "budgeting": {"method": "ratioTimeslices", "slice": "5m"},
    }
    alerting = slo.inside("alerting")
    alerts: Made = {"labels": alerting.texts("labels"), "annotations": alerting.texts("annotations")}
    if "name" in alerting:
        alerts["name"] = alerting.text("name")
    silent = set()
    for severity in ("page", "ticket"):
        key = f"{severity}Alert" if f"{severity}Alert" in alerting else f"{severity}_alert"
        alert = alerting.inside(key)
        if alert.take("disable", default=False):
            silent.add(severity)
        alerts[severity] = {"labels": alert.texts("labels"), "annotations": alert.texts("annotations")}
    spec["alerts"] = alerts
    if silent:
        spec["tiers"] = tiers_without(silent, window[0], target)
    description = slo.take("description", "")
    return our_document(
        "SLO",
        f"{service}-{slo.text('name')}",
        spec,
        slo,
        labels={**labels, **slo.texts("labels")},
        annotations={"description": description} if description else {},
    )


def _indicator(sli: Reader, slo: Reader) -> Made:
    if "events" in sli:
        events = sli.inside("events")
        return {
            "bad": _query(events, "error_query", "errorQuery"),
            "total": _query(events, "total_query", "totalQuery"),
        }
    if "raw" in sli:
        return {"errorRatio": _query(sli.inside("raw"), "error_ratio_query", "errorRatioQuery")}
    what = (
        "a plugin's code makes its queries: run `sloth generate`, and import the rules"
        if "plugin" in sli
        else ""
    )
    raise Unmapped((*slo.path, "sli"), "the indicator is neither `events` nor `raw`", hint=what or None)


def _query(reader: Reader, *keys: str) -> str:
    key = next((each for each in keys if each in reader), keys[0])
    return from_go(reader.text(key), (*reader.path, key))


def tiers_without(silent: set[str], window: float, target: str) -> list[dict[str, Any]]:
    """Return the usual tiers that may fire, without those of some severities."""
    share = 1 - float(target.removesuffix("%")) / 100
    return [
        tier.model_dump(mode="json", by_alias=True)
        for tier in usual_tiers(window)
        if tier.severity not in silent and tier.factor * share <= 1
    ]
