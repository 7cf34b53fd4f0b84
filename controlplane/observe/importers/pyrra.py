"""Pyrra's ServiceLevelObjective as SLOs, with Pyrra's own factors and windows as tiers.

Its windows scale with the objective's, to whole minutes; what that makes nothing of, or what the target
makes unreachable, is left out and told.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from controlplane.kernel.durations import format_duration, parse_duration
from controlplane.kernel.errors import InvalidInput
from controlplane.observe.importers.promql_text import WINDOW, added_up
from controlplane.observe.importers.reading import Made, Reader, Unmapped, our_document, percent, slugged

TIERS = (
    ("page", "page", 14.0, 60.0, 5.0, 2.0),
    ("page-slow", "page", 7.0, 360.0, 30.0, 15.0),
    ("ticket", "ticket", 2.0, 1440.0, 120.0, 60.0),
    ("ticket-slow", "ticket", 1.0, 5760.0, 360.0, 180.0),
)
"""Name, severity, factor, and for four weeks the minutes of long and short window and of `for`.

Source: Pyrra's slo/rules.go.
"""
_FOUR_WEEKS = 28 * 86400.0
_PREFIX = "pyrra.dev/"


def read_pyrra(top: Reader) -> Iterator[Made]:
    """Yield the SLO of one document."""
    top.take("apiVersion")
    top.take("kind")
    metadata, spec = top.inside("metadata"), top.inside("spec")
    name = metadata.text("name")
    labels = {
        key.removeprefix(_PREFIX).replace("/", "_"): value for key, value in metadata.texts("labels").items()
    }
    target = percent(spec.text("target"), (*spec.path, "target"))
    written = spec.text("window")
    try:
        window = parse_duration(written)
    except InvalidInput as error:
        raise Unmapped((*spec.path, "window"), error.message, hint=error.hint) from error
    made: Made = {
        "service": slugged(labels.get("service", name)),
        "indicator": _indicator(spec.inside("indicator"), spec),
        "target": target,
        "window": {"rolling": written},
        "by": ["service"],
        "minEvents": 0,
    }
    _alerting(spec.inside("alerting"), made, window, 1 - float(target.removesuffix("%")) / 100)
    description = str(spec.take("description", "")).strip()
    notes = {"description": description} if description else {}
    yield our_document("SLO", name, made, metadata, labels=labels, annotations=notes)


def _indicator(indicator: Reader, spec: Reader) -> Made:
    for kind in ("ratio", "latency", "latencyNative", "latency_native", "bool_gauge", "boolGauge"):
        if kind in indicator:
            found = indicator.inside(kind)
            by = [str(each) for each in found.take("grouping", [])]
            if by:
                found.lose(
                    "the groups are one objective here; the rules exported from it keep them apart",
                    "grouping",
                )
            return _of_kind(kind, found, by)
    raise Unmapped((*spec.path, "indicator"), "the indicator is neither ratio, latency nor bool_gauge")


def _of_kind(kind: str, found: Reader, by: list[str]) -> Made:
    if kind == "ratio":
        return {"bad": added_up(_metric(found, "errors"), by), "total": added_up(_metric(found, "total"), by)}
    if kind == "latency":
        return {
            "good": added_up(_metric(found, "success"), by),
            "total": added_up(_metric(found, "total"), by),
        }
    if kind.lower().replace("_", "") == "latencynative":
        try:
            bound = parse_duration(found.text("latency"))
        except InvalidInput as error:
            raise Unmapped((*found.path, "latency"), error.message, hint=error.hint) from error
        rated = added_up(_metric(found, "total"), by)
        share, count = f"histogram_fraction(0, {bound:g}, {rated})", f"histogram_count({rated})"
        return {"good": f"{share} * {count}", "total": count}
    selector = found.text("metric")
    return {
        "good": added_up(selector, by, "sum_over_time"),
        "total": added_up(selector, by, "count_over_time"),
    }


def _metric(found: Reader, key: str) -> str:
    inside = found.inside(key)
    metric = inside.text("metric")
    if "[" in metric or WINDOW in metric:
        raise Unmapped((*inside.path, "metric"), "a metric is a selector, without a range")
    return metric


def _alerting(alerting: Reader, made: Made, window: float, budget: float) -> None:
    if alerting.take("disabled", default=False) or alerting.take("burnrates", default=True) is False:
        made["tiers"] = []
    else:
        made["tiers"] = _tiers(alerting, window, budget)
        alerting.lose("Pyrra's alerts wait (`for`); tiers here do not, since their long window does it")
    alerts: Made = {
        "page": {"labels": {"severity": "critical"}},
        "ticket": {"labels": {"severity": "warning"}},
    }
    if "name" in alerting:
        alerts["name"] = alerting.text("name")
    made["alerts"] = alerts
    if not alerting.take("disabled", default=False) and alerting.take("absent", default=True):
        scale = window / _FOUR_WEEKS
        _, _, factor, long, _, wait = TIERS[0]
        minutes = _whole((factor * budget * long + wait) * scale)
        made["noData"] = {"alertAfter": f"{max(1, minutes)}m"}


def _tiers(alerting: Reader, window: float, budget: float) -> list[Made]:
    found: list[Made] = []
    for name, severity, factor, long, short, _ in TIERS:
        minutes = [_whole(each * window / _FOUR_WEEKS) for each in (long, short)]
        if factor * budget > 1:
            alerting.lose(f"tier `{name}` ({factor:g} times) can never fire with this target: left out")
        elif min(minutes) < 1 or minutes[0] == minutes[1]:
            alerting.lose(f"tier `{name}` has a window of less than a minute: left out")
        else:
            spans = [format_duration(each * 60.0) for each in minutes]
            found.append(
                {"name": name, "severity": severity, "factor": factor, "long": spans[0], "short": spans[1]}
            )
    return found


def _whole(minutes: float) -> int:
    """Round as Go does: halves away from zero."""
    return math.floor(minutes + 0.5)
