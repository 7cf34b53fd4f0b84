"""Objectives of the library in PromQL, for a Prometheus that computes them without Fleetward.

From the engine's profile and the service's labels comes a `Query` for each level. A threshold is
taken as a bucket bound, since rules cannot look for one; what only the loop itself can know (a
canary's answer, an engine that stalls) is refused with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from controlplane.kernel.errors import InvalidInput
from controlplane.model.base import Level
from controlplane.model.query import Query
from controlplane.model.service import Service
from controlplane.model.slo import Slo
from controlplane.observe.answers import ALL, BAD, GOOD
from controlplane.observe.library import LATENCIES
from controlplane.observe.profile import Measure, Profile, Series, serving, target_labels

LEVELS: tuple[Level, ...] = ("service", "zone", "node", "replica")
_RANGE = "[{{ window }}]"


@dataclass(frozen=True, slots=True)
class Place:
    """One level of one service in one profile's words: the labels to keep, and the selector's first part."""

    by: tuple[str, ...]
    scope: Mapping[str, str]

    def total(self, name: str, match: Mapping[str, str], more: Iterable[str] = ()) -> str:
        """Return what a counter gained each second, added up at this level."""
        parts = [f'{label}="{value}"' for label, value in {**self.scope, **match}.items()]
        by = f" by ({', '.join(self.by)})" if self.by else ""
        return f"sum{by} (rate({name}{{{', '.join([*parts, *more])}}}{_RANGE}))"


def queries_of(slo: Slo, service: Service | None, profiles: Mapping[str, Profile]) -> list[Query]:
    """Return the SLO as queries, one for each level at which it is judged; refuse what cannot be one."""
    indicator = slo.spec.indicator
    if isinstance(indicator, Query):
        return [indicator]
    if service is None:
        msg = f"its Service `{slo.spec.service}` is not among the files, so the engine's series are not known"
        raise InvalidInput(msg, hint="give the file with the Service too")
    ours = serving(profiles, service)
    levels = [level for level in LEVELS if level in slo.spec.by]
    return [_query(slo, indicator, level, service, ours) for level in levels]


def _query(
    slo: Slo, indicator: str, level: Level, service: Service, profiles: Mapping[str, Profile]
) -> Query:
    if indicator in LATENCIES:
        return _latency(slo, indicator, level, service, _engine(service, profiles))
    if indicator == "success":
        return _success(level, service, profiles)
    if indicator == "availability":
        engine = _engine(service, profiles)
        where = _place(engine, service, level)
        by = f" by ({', '.join(where.by)})" if where.by else ""
        replica = target_labels(engine, service).replica
        selector = ", ".join([*(f'{k}="{v}"' for k, v in where.scope.items()), f'{replica}!=""'])
        return Query(error_ratio=f"1 - avg{by} (avg_over_time(up{{{selector}}}{_RANGE}))")
    msg = f"`{indicator}` is what Fleetward itself sees: no rule of Prometheus can compute it"
    raise InvalidInput(msg, hint=f"valid: {', '.join([*LATENCIES, 'success', 'availability'])}, or a query")


def _engine(service: Service, profiles: Mapping[str, Profile]) -> Profile:
    return profiles[service.spec.engine]


def _place(profile: Profile, service: Service, level: Level) -> Place:
    labels = target_labels(profile, service)
    depth = LEVELS.index(level)
    names = (labels.zone, labels.node, labels.replica)[:depth]
    if None in names:
        msg = f"the series of {profile.name} name no {level}"
        raise InvalidInput(msg, hint="take that level out of `by`")
    scope = {service.spec.metric_labels.service: service.name} if profile.scoped else {}
    return Place(tuple(str(name) for name in names), scope)


def _latency(slo: Slo, name: str, level: Level, service: Service, engine: Profile) -> Query:
    measure = engine.measures.get(name)
    if measure is None:
        reason = engine.engine.lacks.get(name, "") if engine.engine else ""
        msg = f"{engine.name} has no `{name}`{': ' + reason if reason else ''}"
        raise InvalidInput(msg)
    if slo.spec.threshold is None:
        msg = f"`{name}` needs a threshold"
        raise InvalidInput(msg, hint="write for example `threshold: 1s` in the SLO")
    bound = f'le=~"{_bound(slo.spec.threshold / measure.scale)}"'
    where = _place(engine, service, level)
    good, total = [], []
    for _, series in measure.ranks():
        match = {**measure.match, **series.match}
        good.append(where.total(f"{series.name}_bucket", match, [bound]))
        total.append(where.total(f"{series.name}_count", match))
    return Query(good=_first(good), total=_first(total))


def _success(level: Level, service: Service, profiles: Mapping[str, Profile]) -> Query:
    """Of clients what the gateway answered, less what broke in mid-stream; of replicas what they finished."""
    engine = _engine(service, profiles)
    finished = engine.measures.get("finished")
    inside = _place(engine, service, level)
    broken = _part(finished, inside, (BAD,)) if finished else ""
    ended = _part(finished, inside, (ALL,)) or _part(finished, inside, (GOOD, BAD)) if finished else ""
    gateway = profiles.get("envoy")
    if level not in {"service", "zone"} or gateway is None:
        if not broken or not ended:
            msg = f"{engine.name} does not tell how requests ended"
            raise InvalidInput(msg)
        return Query(bad=broken, total=ended)
    responses = gateway.measures["responses"]
    outside = _place(gateway, service, level)
    refused, answered = _part(responses, outside, (BAD,)), _part(responses, outside, (GOOD, BAD))
    if not broken or not ended:
        return Query(bad=refused, total=answered)
    seen = f"(({refused}) or 0 * ({answered})) + (({broken}) or 0 * ({answered}))"
    return Query(bad=_first([seen, broken]), total=_first([answered, ended]))


def _part(measure: Measure, where: Place, parts: tuple[str, ...]) -> str:
    """Return the sum of a counter's series that are of these parts; "" when none is."""
    terms = [term for series in measure.series for term in _series(measure, series, where, parts)]
    if len(terms) < 2:
        return "".join(terms)
    whole = " + ".join(f"({term})" for term in terms)
    return _first([whole, *terms])  # a series that was never seen is left out, and takes nothing with it


def _series(measure: Measure, series: Series, where: Place, parts: tuple[str, ...]) -> Iterator[str]:
    match = {**measure.match, **series.match}
    if series.part is not None:
        if series.part in parts:
            yield where.total(series.name, match)
    elif measure.outcomes is None:
        if ALL in parts:
            yield where.total(series.name, match)
    else:
        known = {GOOD: measure.outcomes.good, BAD: measure.outcomes.bad}
        values = [value for part in parts for value in known.get(part, ())]
        if values:
            one_of = "|".join(_literally(value) for value in values)
            yield where.total(series.name, match, [f'{measure.outcomes.label}=~"{one_of}"'])


def _first(texts: list[str]) -> str:
    """Return the first of some texts that has series."""
    return texts[0] if len(texts) == 1 else "\nor\n".join(f"({text})" for text in texts)


def _bound(bound: float) -> str:
    """Return what matches a bucket's ``le``, which some clients write `1` and others `1.0`."""
    text = f"{bound:.10g}"
    escaped = _literally(text)
    return escaped if "." in text or "e" in text else rf"{escaped}(\\.0)?"


def _literally(text: str) -> str:
    """Return the regular expression of a text, as it stands inside PromQL's quotes."""
    return re.escape(text).replace("\\", "\\\\")
