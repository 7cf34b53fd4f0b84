"""OpenSLO v1 as SLOs: one for each objective, with its indicator wherever in the file that stands.

Only Prometheus' sources can be asked here. Alert policies have one window where tiers have two, so they are
told and the usual tiers stand in for them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import partial

from controlplane.observe.importers.promql_text import of_counter, over_time
from controlplane.observe.importers.reading import Made, Reader, Unmapped, our_document, percent, slugged

_OPERATORS = {"lte": "<=", "gte": ">=", "lt": "<", "gt": ">"}
_LENGTH = re.compile(r"^(\d+)([mhdwMQY])$")
_UNITS = {"d": "day", "w": "week", "M": "month", "Q": "quarter", "Y": "year"}
_DAYS = {"M": 30, "Q": 90, "Y": 365}

Sources = Mapping[str, str]
"""Types of the file's data sources, by name."""


def read_openslo(top: Reader, indicators: Mapping[str, Reader], sources: Sources) -> Iterator[Made]:
    """Yield the SLOs of one document; ``indicators`` are the specs of the file's SLIs, by name."""
    top.take("apiVersion")
    kind = top.take("kind")
    if kind in {"SLI", "DataSource"}:
        top.take("metadata")
        top.take("spec")
        return  # read where an SLO names it
    if kind != "SLO":
        said = {
            "Service": "it says nothing of engine, zones or metrics: write a Service of ours",
            "AlertPolicy": "tiers have two windows each; the usual ones stand in for it",
            "AlertCondition": "tiers have two windows each; the usual ones stand in for it",
            "AlertNotificationTarget": "channels are in the Policy",
        }
        top.lose(f"kind `{kind}` is not taken over: {said.get(str(kind), 'it is not known here')}", "kind")
        top.take("metadata")
        top.take("spec")
        return
    metadata, spec = top.inside("metadata"), top.inside("spec")
    objectives = list(spec.each("objectives"))
    if not objectives:
        raise Unmapped((*spec.path, "objectives"), "an SLO needs an objective")
    shared = _shared(spec, metadata)
    parts = _Parts(shared, _indicator(spec, indicators), sources, spec)
    for number, objective in enumerate(objectives, 1):
        name = metadata.text("name") if len(objectives) == 1 else f"{metadata.text('name')}-{number}"
        yield from top.notes.attempt(partial(_slo, name, metadata, objective, parts))


class _Parts:
    """What all objectives of one SLO share."""

    def __init__(self, shared: Made, indicator: Reader, sources: Sources, spec: Reader) -> None:
        self.shared, self.indicator, self.sources, self.spec = shared, indicator, sources, spec
        self.method = str(spec.take("budgetingMethod", "Occurrences"))


def _shared(spec: Reader, metadata: Reader) -> Made:
    service = spec.text("service")
    if slugged(service) != service:
        spec.lose(f"the service `{service}` is written `{slugged(service)}` here", "service")
    if spec.take("alertPolicies"):
        spec.lose("alert policies have one window each: the usual tiers stand in for them", "alertPolicies")
    return {
        "service": slugged(service),
        "window": _window(spec),
        "by": ["service"],
        "labels": metadata.texts("labels"),
        "annotations": {
            key: str(value)
            for key, value in (
                ("displayName", metadata.take("displayName")),
                ("description", spec.take("description")),
            )
            if value
        },
    }


def _indicator(spec: Reader, indicators: Mapping[str, Reader]) -> Reader:
    if "indicatorRef" in spec:
        name = spec.text("indicatorRef")
        if name not in indicators:
            raise Unmapped((*spec.path, "indicatorRef"), f"the file has no SLI `{name}`")
        return indicators[name]
    inline = spec.inside("indicator")
    inline.take("metadata")
    return inline.inside("spec")


def _slo(name: str, metadata: Reader, objective: Reader, parts: _Parts) -> Made:
    if "targetPercent" in objective:
        target = percent(objective.text("targetPercent"), (*objective.path, "targetPercent"))
    else:
        share = objective.text("target")
        target = percent(float(share) * 100 if _is_number(share) else share, (*objective.path, "target"))
    spec: Made = {key: parts.shared[key] for key in ("service", "window", "by")}
    spec |= {"indicator": _query(parts.indicator, objective, parts.sources), "target": target}
    budgeting = _budgeting(objective, parts.method)
    if budgeting:
        spec["budgeting"] = budgeting
    annotations = dict(parts.shared["annotations"])
    if "displayName" in objective:
        annotations["objective"] = objective.text("displayName")
    return our_document("SLO", name, spec, metadata, labels=parts.shared["labels"], annotations=annotations)


def _budgeting(objective: Reader, method: str) -> Made | None:
    if method == "Occurrences":
        return None
    length = objective.take("timeSliceWindow", "5m")
    slice_ = f"{length}m" if isinstance(length, int) else str(length)
    if method == "RatioTimeslices":
        objective.take("timeSliceTarget")
        return {"method": "ratioTimeslices", "slice": slice_}
    if method != "Timeslices":
        raise Unmapped(objective.path, f"unknown budgetingMethod `{method}`")
    share = objective.text("timeSliceTarget")
    if not _is_number(share):
        raise Unmapped((*objective.path, "timeSliceTarget"), f"`{share}` is no share")
    return {"method": "timeslices", "slice": slice_, "sliceTarget": float(share)}


def _window(spec: Reader) -> Made:
    windows = list(spec.each("timeWindow"))
    if len(windows) != 1:
        raise Unmapped((*spec.path, "timeWindow"), "an SLO has one timeWindow")
    window = windows[0]
    length = window.text("duration")
    found = _LENGTH.match(length)
    if found is None:
        raise Unmapped((*window.path, "duration"), f"`{length}` is no length of OpenSLO: m, h, d, w, M, Q, Y")
    count, unit = int(found.group(1)), found.group(2)
    if window.take("isRolling", default=False) is True:
        if unit in _DAYS:
            window.lose(
                f"{length} is taken as {count * _DAYS[unit]} days: a rolling window has a fixed length"
            )
            return {"rolling": f"{count * _DAYS[unit]}d"}
        return {"rolling": length}
    if unit == "m" and count == 1:  # many write a month so; nobody means a minute of the calendar
        window.lose("1m is taken as a month of the calendar: OpenSLO writes it 1M", "duration")
        unit = "M"
    if count != 1 or unit not in _UNITS:
        raise Unmapped((*window.path, "duration"), f"{length} is no day, week, month, quarter or year")
    calendar = window.inside("calendar")
    start, zone = str(calendar.take("startTime", "")), str(calendar.take("timeZone", "UTC"))
    if start:
        calendar.lose(f"the {_UNITS[unit]} begins at midnight, a week on Monday, not as counted from {start}")
    return {"calendar": {"unit": _UNITS[unit], "timeZone": zone}}


def _query(indicator: Reader, objective: Reader, sources: Sources) -> Made:
    if "ratioMetric" in indicator:
        if "op" in objective:
            objective.lose("`op` says nothing of a ratio", "op")
        return _ratio(indicator.inside("ratioMetric"), sources)
    if "thresholdMetric" not in indicator:
        raise Unmapped(indicator.path, "the indicator has neither `ratioMetric` nor `thresholdMetric`")
    metric = indicator.inside("thresholdMetric")
    query, _ = _asked(metric, sources)
    operator = objective.text("op")
    if operator not in _OPERATORS:
        raise Unmapped((*objective.path, "op"), f"unknown op `{operator}`; valid: lt, lte, gt, gte")
    bound = objective.text("value")
    if not _is_number(bound):
        raise Unmapped((*objective.path, "value"), f"`{bound}` is no number")
    return {"errorRatio": "1 - " + over_time(f"({query}) {_OPERATORS[operator]} bool {float(bound):g}")}


def _ratio(metric: Reader, sources: Sources) -> Made:
    counter = metric.take("counter", default=False) is True
    if "raw" in metric:
        query, _ = _asked(metric.inside("raw"), sources)
        mean = over_time(query)
        return {"errorRatio": mean if metric.take("rawType") == "failure" else f"1 - {mean}"}
    made: Made = {}
    for key in ("good", "bad", "total"):
        if key in metric:
            query, path = _asked(metric.inside(key), sources)
            made[key] = of_counter(query, path, "rate" if counter else "sum_over_time")
    if "good" in made and "bad" in made:
        metric.lose("both `good` and `bad` are there: `bad` is left out", "bad")
        del made["bad"]
    if "total" not in made or len(made) != 2:
        raise Unmapped(metric.path, "a ratio needs `total` and one of `good` and `bad`, or `raw`")
    return made


def _asked(metric: Reader, sources: Sources) -> tuple[str, tuple[str | int, ...]]:
    """Return the query of a metric source, and where it stands."""
    source = metric.inside("metricSource")
    name = source.take("metricSourceRef")
    kind = source.take("type") or sources.get(str(name), "" if name else "Prometheus")
    if str(kind).lower() != "prometheus":
        hint = "only Prometheus, or what speaks its API, is asked here"
        raise Unmapped((*source.path, "type"), f"the source is `{kind or name}`", hint=hint)
    spec = source.inside("spec")
    key = next((each for each in ("query", "promql") if each in spec), "query")
    return spec.text(key).strip(), (*spec.path, key)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
