"""Expositions made from profiles, and a Prometheus in memory that answers a tick's queries over them.

What an engine would show is made from the profile's names and a truth that the test knows;
the answers are the JSON of the HTTP API, decoded as the real source decodes them.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from controlplane.kernel.errors import FleetwardError
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.model.topology import NodeView, ReplicaView, Topology, ZoneView
from controlplane.observe.decoding import Decoder
from controlplane.observe.exposition import Sample
from controlplane.observe.observer import Observation, Observer
from controlplane.observe.probes import ProbeBook
from controlplane.observe.profile import Generation, Measure, Profile, Series, queries, serving, shipped
from controlplane.observe.series import Rows, Track
from tests.unit.controlplane.decide.fleet import AT

TICK = 2.0
ZONES = ("zone-a", "zone-b")
Truth = Mapping[str, float | Mapping[Any, float]]
"""By measure: a gauge's value, what a counter gains each tick (by part), or a histogram (by bound)."""

_QUERY = re.compile(r"^(sum|max|min) by \((.*?)\) \((?:(timestamp)\()?(\w*)\{(.*?)\}\)+$")
_WORK: dict[str, Callable[[list[float]], float]] = {"sum": sum, "max": max, "min": min}
_MATCHER = re.compile(r'(\w+)(=~|!=|=)"([^"]*)"')


def service(engine: str = "vllm", name: str = "chat", **spec: Any) -> Service:
    made = {
        "engine": engine,
        "model": "m",
        "zones": [{"name": zone} for zone in ZONES],
        "economics": {"currency": "EUR", "gpuHour": 2.5, "tokenPrice": 20},
        **spec,
    }
    return Service.model_validate({"kind": "Service", "metadata": {"name": name}, "spec": made})


def expose(profile: Profile, generation: Generation, truth: Truth, ticks: int) -> Iterator[Sample]:
    """Yield what a target of this generation shows after so many ticks."""
    engine = profile.engine
    lacks = {*(engine.lacks if engine else ()), *generation.lacks}
    seen: set[tuple[Any, ...]] = set()
    for name, measure in profile.measures.items():
        ranked = [(rank, each) for rank, each in measure.ranks() if each.name not in lacks]
        if name in lacks or name not in truth or not ranked:
            continue
        best = min(rank for rank, _ in ranked)
        for series in (each for rank, each in ranked if rank == best):
            for sample in _samples(measure, series, truth[name], ticks):
                key = (sample.name, *sorted(sample.labels.items()))
                if key not in seen:
                    seen.add(key)
                    yield sample


def _samples(measure: Measure, series: Series, truth: Any, ticks: int) -> Iterator[Sample]:
    common = {"model_name": "m", **dict.fromkeys(measure.per, "0"), **measure.match, **series.match}
    if measure.type == "histogram":
        for bound, count in truth.items():
            text = "+Inf" if math.isinf(bound) else repr(bound / measure.scale)
            yield Sample(f"{series.name}_bucket", {**common, "le": text}, count * ticks)
    elif measure.type == "gauge" and series.product:
        labels = dict(zip(series.product, (str(truth / 16), "16"), strict=True))
        yield Sample(series.name, {**common, **labels}, 1.0)
    elif measure.type == "gauge":
        yield Sample(series.name, common, truth / measure.scale)
    else:
        parts = truth if isinstance(truth, Mapping) else {"good": truth, "bad": 0.0}
        for labels, value in _parts(measure, series, parts):
            yield Sample(series.name, {**common, **labels}, value * ticks / measure.scale)


def _parts(
    measure: Measure, series: Series, parts: Mapping[str, float]
) -> Iterator[tuple[dict[str, str], float]]:
    if series.part is not None:
        yield {}, sum(parts.values()) if series.part == "all" else parts[series.part]
    elif measure.outcomes is None:
        yield {}, parts["good"]
    else:
        elsewhere = {each.part for each in measure.series}
        for part, values in (("good", measure.outcomes.good), ("bad", measure.outcomes.bad)):
            if values:
                yield {measure.outcomes.label: values[0]}, 0.0 if part in elsewhere else parts[part]


def as_text(samples: Sequence[Sample]) -> str:
    """Write samples as a /metrics text."""
    lines = []
    for sample in samples:
        labels = ",".join(f'{label}="{value}"' for label, value in sample.labels.items())
        lines.append(f"{sample.name}{{{labels}}} {sample.value}")
    return "\n".join(lines) + "\n"


@dataclass(slots=True)
class Replica:
    """One engine: ``ticks`` since it started; a text of None is a target that does not answer."""

    target: Target
    profile: Profile
    generation: Generation
    truth: dict[str, Any]
    ticks: int = 0
    gone: bool = False

    def samples(self) -> list[Sample]:
        return list(expose(self.profile, self.generation, self.truth, self.ticks))


@dataclass(slots=True)
class World:
    """Two zones of one node of two replicas, and exporters beside them; `tick` moves all on by 2 s."""

    engine: str
    generation: Generation
    truth: dict[str, Any]
    service: Service = field(init=False)
    replicas: list[Replica] = field(init=False)
    observer: Observer = field(init=False)
    decoder: Decoder = field(default_factory=Decoder)
    extra: dict[Target, list[Sample]] = field(default_factory=dict)
    """What exporters show, by the target that they speak of."""
    now: datetime = AT

    def __post_init__(self) -> None:
        self.service = service(self.engine)
        profiles = shipped()
        places = [
            Target("chat", "local", zone, f"node-{zone[-1]}1", f"replica-{zone[-1]}1-{slot}")
            for zone in ZONES
            for slot in (0, 1)
        ]
        profile = profiles[self.engine]
        self.replicas = [Replica(place, profile, self.generation, dict(self.truth)) for place in places]
        self.observer = Observer(self.service, self, profiles, ProbeBook(self.service.spec), lag=0.0)
        self.observer._queries = [
            query
            for each in serving(profiles, self.service).values()
            for query in queries(each, self.service, everything=True)
        ]

    def tick(self, times: int = 1) -> Observation:
        for _ in range(times):
            self.now += timedelta(seconds=TICK)
            for replica in self.replicas:
                replica.ticks += 1
            found = self.observer.observe(self.now, self.topology(), None)
        return found

    def topology(self) -> Topology:
        zones = []
        for zone in ZONES:
            views = tuple(
                ReplicaView(
                    name=str(each.target.replica),
                    uid=str(each.target),
                    ready=True,
                    state="ready",
                    address="http://127.0.0.1/",
                    version="1",
                )
                for each in self.replicas
                if each.target.zone == zone
            )
            node = NodeView(name=f"node-{zone[-1]}1", uid=zone, ready=True, version="1", replicas=views)
            zones.append(ZoneView(name=zone, nodes=(node,)))
        return Topology(service="chat", cluster="local", zones=tuple(zones), observed_at=self.now)

    def value(self, name: str, target: Target) -> float | None:
        return self.observer.measures.value(name, target)

    def poll(self, asked: Mapping[str, str], at: datetime) -> dict[str, Rows | FleetwardError]:
        series: dict[str, list[tuple[dict[str, str], float]]] = {}
        for where, samples in self._scraped(at):
            for sample in samples:
                labels = {**sample.labels, **where, "__name__": sample.name}
                series.setdefault(sample.name, []).append((labels, sample.value))
        return {name: self.decoder.rows(name, _answer(text, series, at)) for name, text in asked.items()}

    def ranges(
        self, asked: Mapping[str, str], start: datetime, end: datetime, step: float
    ) -> dict[str, list[Track] | FleetwardError]:
        raise NotImplementedError

    def _scraped(self, at: datetime) -> Iterator[tuple[dict[str, str], list[Sample]]]:
        for replica in self.replicas:
            if not replica.gone:
                yield _labels(replica.target), [Sample("up", {}, 1.0), *replica.samples()]
        for target, samples in self.extra.items():
            yield _labels(target), samples


def _labels(target: Target) -> dict[str, str]:
    parts = {"zone": target.zone, "node": target.node, "replica": target.replica}
    return {"service": "chat", **{label: value for label, value in parts.items() if value is not None}}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query of a profile, taken apart."""

    how: str
    by: tuple[str, ...]
    timed: bool
    names: tuple[str, ...]
    matchers: tuple[tuple[str, str, str], ...]


@functools.cache
def _parsed(query: str) -> Parsed:
    found = _QUERY.match(query)
    assert found, query
    how, by, timed, name, selector = found.groups()
    matchers = _MATCHER.findall(selector)
    names = next((value.split("|") for label, _, value in matchers if label == "__name__"), [name])
    rest = tuple(each for each in matchers if each[0] != "__name__")
    return Parsed(how, tuple(label.strip() for label in by.split(",")), bool(timed), tuple(names), rest)


def _answer(query: str, series: Mapping[str, list[tuple[dict[str, str], float]]], at: datetime) -> bytes:
    """Answer one query as the HTTP API does, with an instant vector."""
    asked, groups = _parsed(query), dict[tuple[tuple[str, str], ...], list[float]]()
    for name in asked.names:
        for labels, value in series.get(name, ()):
            if all(_holds(labels.get(label, ""), how, wanted) for label, how, wanted in asked.matchers):
                key = tuple((label, labels[label]) for label in asked.by if labels.get(label))
                groups.setdefault(key, []).append(at.timestamp() - 0.2 if asked.timed else value)
    stamp = at.timestamp()
    result = [
        {"metric": dict(key), "value": [stamp, str(_WORK[asked.how](values))]}
        for key, values in groups.items()
    ]
    return json.dumps({"data": {"result": result}}, separators=(",", ":")).encode()


def _holds(own: str, how: str, value: str) -> bool:
    return own != value if how == "!=" else own == value
