"""Profiles: which series of an engine or exporter feed which measure, as data that is checked.

A profile is one YAML file; a new engine is a new file. From a profile and a service come
the queries of a tick: one for the counters, one for the gauges, one per histogram, each
grouped by zone, node and replica, however many objectives there are. It asks nothing itself.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from typing import Any, Literal, Self, TypeVar

from pydantic import Field, ValidationError, field_validator, model_validator

from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.registry import did_you_mean
from controlplane.kernel.yaml import load_documents
from controlplane.model.base import Model
from controlplane.model.service import Service

T = TypeVar("T", bound=Model)

MeasureType = Literal["counter", "gauge", "histogram"]

MEASURES: dict[str, MeasureType] = {
    "ttft": "histogram",
    "itl": "histogram",
    "tpot": "histogram",
    "e2e": "histogram",
    "context_bound": "histogram",
    "generation_tokens": "counter",
    "prompt_tokens": "counter",
    "prefill_tokens": "counter",
    "cached_tokens": "counter",
    "looked_up": "counter",
    "prefix": "counter",
    "prompt_lengths": "counter",
    "output_lengths": "counter",
    "lengths": "counter",
    "queue_seconds": "counter",
    "queued": "counter",
    "prefill_seconds": "counter",
    "prefills": "counter",
    "preemptions": "counter",
    "request_seconds": "counter",
    "steps": "counter",
    "finished": "counter",
    "responses": "counter",
    "effective_tokens": "counter",
    "gpu_energy": "counter",
    "running": "gauge",
    "queue": "gauge",
    "kv_use": "gauge",
    "kv_tokens": "gauge",
    "kv_tokens_used": "gauge",
    "kv_bytes": "gauge",
    "kv_blocks": "gauge",
    "kv_block_tokens": "gauge",
    "context_length": "gauge",
    "prefix_hit_rate": "gauge",
    "ready": "gauge",
    "restarts": "counter",
    "node_ready": "gauge",
    "node_conditions": "gauge",
    "gpu_use": "gauge",
    "gpu_power": "gauge",
    "gpu_temperature": "gauge",
    "gpu_memory_used": "gauge",
    "gpu_memory_free": "gauge",
    "gpu_memory_total": "gauge",
    "gpu_xid": "gauge",
    "gpu_row_remap_failure": "gauge",
    "gpu_row_remap_pending": "gauge",
    "gpu_ecc_dbe": "gauge",
    "gpu_health": "gauge",
}
"""Every measure that indicators are made of, and what its series must be (s, tokens, bytes, W, J, °C)."""

UP = "up"
"""What a heartbeat gives: a measure that no series of the target's own feeds."""


class Caveat(Model):
    """What a series is not: an indicator that rests on it is a bound, and this says which and why."""

    bound: Literal["lower", "upper", "estimate"]
    why: str


class Series(Model):
    """One name of a measure's series; a bare text in YAML is a name."""

    name: str
    match: dict[str, str] = Field(default_factory=dict, description="label values that the series must have")
    part: Literal["good", "bad", "all"] | None = Field(
        None, description="for counters: which events the series counts, where no label tells"
    )
    beside: bool = Field(
        default=False, description="adds to the series before it, instead of standing in for it"
    )
    product: tuple[str, ...] = Field(
        (), description="the value is the product of these labels, not the sample"
    )
    aggregate: Literal["sum", "max"] | None = Field(None, description="its own, if not the measure's")
    caveat: Caveat | None = None


class Outcomes(Model):
    """How a label of a counter tells good events from bad ones; other values are not counted."""

    label: str
    good: tuple[str, ...]
    bad: tuple[str, ...]


class Measure(Model):
    """The series of one measure. Of several names the first that a target exposes is taken."""

    type: MeasureType
    series: tuple[Series, ...] = Field(min_length=1)
    match: dict[str, str] = Field(default_factory=dict, description="label values that the series must have")
    per: tuple[str, ...] = Field(
        (), description="further labels to keep apart: ranks, whose counters reset alone"
    )
    aggregate: Literal["sum", "max"] = "sum"
    fold: Literal["sum", "mean", "max"] | None = Field(
        None, description="for gauges: how the value of a target follows from its parts; sum if left out"
    )
    named: str | None = Field(None, description="for gauges: a label by whose values they are told apart")
    scale: float = Field(1.0, description="of a histogram its bounds' unit, else the values'")
    outcomes: Outcomes | None = None
    tick: bool = Field(default=True, description="whether the loop asks for it at every tick")

    @field_validator("series", mode="before")
    @classmethod
    def _bare_names(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [{"name": each} if isinstance(each, str) else each for each in value]
        return value

    def ranks(self) -> Iterator[tuple[int, Series]]:
        """Yield each series with its rank: those that stand beside one another share one."""
        rank = -1
        for series in self.series:
            rank += not (series.beside and rank >= 0)
            yield rank, series


class Generation(Model):
    """Releases of an engine that export alike. ``lacks``: measures or series they do not have, and why."""

    name: str
    has: tuple[str, ...] = Field((), description="families that tell it from the generation before")
    without: tuple[str, ...] = Field((), description="families that it does not have, while others do")
    lacks: dict[str, str] = Field(default_factory=dict)


class Engine(Model):
    """What is known of an engine beside its series: how it is recognised, and what it does not export."""

    title: str
    prefixes: tuple[str, ...] = Field((), description="family names that begin so are the engine's")
    marks: tuple[str, ...] = Field((), description="families that an engine without a prefix is known by")
    impostors: dict[str, str] = Field(
        default_factory=dict, description="families under the same prefix that something else exports"
    )
    generations: tuple[Generation, ...] = Field(min_length=1, description="oldest first")
    lacks: dict[str, str] = Field(
        default_factory=dict, description="measures that no release exports, and why"
    )


class TargetLabels(Model):
    """What the profile's series call a target's parts; None where they do not say."""

    zone: str | None = "zone"
    node: str | None = "node"
    replica: str | None = "replica"


class Profile(Model):
    """One engine or exporter."""

    name: str
    source: str = Field(description="the source of observation whose freshness its measures share")
    heartbeat: bool = Field(False, description="whether `up` of its targets says that a replica answers")
    scoped: bool = Field(True, description="whether its series carry the service's label")
    optional: bool = Field(False, description="whether it may be missing without a source being lost")
    labels: TargetLabels = TargetLabels()
    engine: Engine | None = Field(None, description="for engines; an exporter leaves it out")
    measures: dict[str, Measure]

    @model_validator(mode="after")
    def _measures_are_known(self) -> Self:
        for name, measure in self.measures.items():
            if name not in MEASURES:
                msg = f"unknown measure `{name}`; {did_you_mean(name, list(MEASURES))}"
                raise ValueError(msg)
            if measure.type != MEASURES[name]:
                msg = f"measure `{name}` must be a {MEASURES[name]}, not a {measure.type}"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _lacks_are_known(self) -> Self:
        if self.engine is None:
            return self
        names = {series.name for measure in self.measures.values() for series in measure.series}
        said = [*self.engine.lacks, *(key for each in self.engine.generations for key in each.lacks)]
        for key in said:
            if key not in MEASURES and key not in names:
                hint = did_you_mean(key, [*MEASURES, *names])
                msg = f"`{key}` in `lacks` is no measure and no series; {hint}"
                raise ValueError(msg)
        twice = self.engine.lacks.keys() & self.measures.keys()
        if twice:
            msg = f"`{min(twice)}` is both fed and said to be lacking"
            raise ValueError(msg)
        return self


@dataclass(frozen=True, slots=True)
class Named:
    """What a series' name means in a query: its measure, its rank among the names, and itself."""

    measure: str
    rank: int
    series: Series


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a tick. ``measures`` maps each series name to what it means."""

    name: str
    promql: str
    profile: Profile
    measures: dict[str, Named]
    selector: str = ""
    """What it selects, as it stands inside the text."""

    @property
    def counts(self) -> bool:
        """Whether it has counters: they alone have a past."""
        return any(self.profile.measures[each.measure].type != "gauge" for each in self.measures.values())


HEARTBEAT = "up"
SCRAPED_AT = "scraped_at"
"""Names of the two queries that say whether, and when, a replica was last scraped."""


def load_profile(text: str, file: str) -> Profile:
    """Read one profile; raise `InvalidInput` that says what is wrong and where."""
    return load_data(Profile, text, file)


def load_data(model: type[T], text: str, file: str) -> T:
    """Read one YAML document of the package's own as ``model``."""
    document = next(iter(load_documents(text, file)))
    if document.problems:
        raise InvalidInput(str(document.problems[0]))
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        path = ".".join(map(str, detail["loc"])) or model.__name__.lower()
        msg = f"{file}: {path}: {detail['msg']}"
        raise InvalidInput(msg) from error


@functools.cache
def _shipped() -> tuple[Profile, ...]:
    folder = resources.files("controlplane.observe.profiles")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".yaml")), key=lambda f: f.name)
    return tuple(load_profile(file.read_text("utf-8"), file.name) for file in files)


def shipped() -> dict[str, Profile]:
    """Return the profiles that come with the package, by name."""
    return {profile.name: profile for profile in _shipped()}


def serving(profiles: Mapping[str, Profile], service: Service) -> dict[str, Profile]:
    """Return the profiles that speak of a service: every exporter's, and of the engines' its own."""
    return {
        name: profile
        for name, profile in profiles.items()
        if profile.engine is None or name == service.spec.engine
    }


def queries(profile: Profile, service: Service, *, everything: bool = False) -> list[Query]:
    """Return the queries of one tick for one profile; ``everything``: also what no tick asks for."""
    return list(_queries(profile, service, everything=everything))


def _queries(profile: Profile, service: Service, *, everything: bool) -> Iterator[Query]:
    labels = target_labels(profile, service)
    scope = {service.spec.metric_labels.service: service.name} if profile.scoped else {}
    if profile.heartbeat:
        up = _selector(scope, f'{labels.replica}!=""', name="up")
        by = ", ".join(filter(None, (labels.zone, labels.node, labels.replica)))
        yield Query(HEARTBEAT, f"min by ({by}) ({up})", profile, {}, up)
        yield Query(SCRAPED_AT, f"max by ({by}) (timestamp({up}))", profile, {}, up)
    units = list(_units(profile, everything=everything))
    for index, (_, group) in enumerate(groupby(units, key=_together)):
        members = list(group)
        first = members[0]
        suffix = "_bucket" if first.measure.type == "histogram" else ""
        names = {unit.series.name + suffix: Named(unit.name, unit.rank, unit.series) for unit in members}
        extra = {label for unit in members for label in _extra_labels(unit)}
        wanted = ["__name__", *filter(None, (labels.zone, labels.node, labels.replica)), *sorted(extra)]
        selector = _selector({**scope, **first.match}, f'__name__=~"{"|".join(names)}"')
        text = f"{first.aggregate} by ({', '.join(wanted)}) ({selector})"
        yield Query(f"{profile.name}/{index}", text, profile, names, selector)


def target_labels(profile: Profile, service: Service) -> TargetLabels:
    """Return what the series call zones, nodes and replicas: the profile's words, then the service's.

    Series that are not the service's keep the exporter's own words.
    """
    default = TargetLabels()
    theirs = service.spec.metric_labels if profile.scoped else default

    def pick(ours: str | None, usual: str | None, named: str | None) -> str | None:
        return named if ours == usual else ours

    mine = profile.labels
    return TargetLabels(
        zone=pick(mine.zone, default.zone, theirs.zone),
        node=pick(mine.node, default.node, theirs.node),
        replica=pick(mine.replica, default.replica, theirs.replica),
    )


@dataclass(frozen=True, slots=True)
class _Unit:
    """One series of one measure on its way into a query."""

    measure: Measure
    name: str
    rank: int
    series: Series
    use: int
    """How many measures before it read the same series: a query can tell it once only."""

    @property
    def aggregate(self) -> str:
        return self.series.aggregate or self.measure.aggregate

    @property
    def match(self) -> dict[str, str]:
        return {**self.measure.match, **self.series.match}


def _units(profile: Profile, *, everything: bool) -> Iterator[_Unit]:
    used: Counter[str] = Counter()
    for name, measure in profile.measures.items():
        if measure.tick or everything:
            for rank, series in measure.ranks():
                yield _Unit(measure, name, rank, series, used[series.name])
                used[series.name] += 1


def _together(unit: _Unit) -> tuple[str, ...]:
    """Series with the same key share a query; a histogram's names have one of their own."""
    measure = unit.measure
    own = unit.name if measure.type == "histogram" else ""
    match = (f"{key}={value}" for key, value in unit.match.items())
    per = (f"per {label}" for label in measure.per)
    return (measure.type, own, unit.aggregate, str(unit.use), *match, *per)


def _extra_labels(unit: _Unit) -> Iterator[str]:
    yield from unit.measure.per
    yield from unit.series.product
    if unit.measure.named:
        yield unit.measure.named
    if unit.measure.type == "histogram":
        yield "le"
    if unit.measure.outcomes:
        yield unit.measure.outcomes.label


def _selector(match: dict[str, str], *more: str, name: str = "") -> str:
    parts = [f'{label}="{value}"' for label, value in match.items()]
    return f"{name}{{{', '.join([*parts, *more])}}}"
