"""Profiles: which series of an engine or exporter feed which measure, as data that is checked.

A profile is one YAML file; a new engine is a new file. From a profile and a service come
the queries of a tick: one for the counters, one for the gauges, one per histogram, each
grouped by zone, node and replica, however many objectives there are. It asks nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from itertools import groupby
from typing import Literal, Self

from pydantic import Field, ValidationError, model_validator

from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.registry import did_you_mean
from controlplane.kernel.yaml import load_documents
from controlplane.model.base import Model
from controlplane.model.service import Service

MeasureType = Literal["counter", "gauge", "histogram"]

MEASURES: dict[str, MeasureType] = {
    "ttft": "histogram",
    "itl": "histogram",
    "tpot": "histogram",
    "e2e": "histogram",
    "generation_tokens": "counter",
    "prompt_tokens": "counter",
    "steps": "counter",
    "finished": "counter",
    "responses": "counter",
    "effective_tokens": "counter",
    "running": "gauge",
    "queue": "gauge",
    "kv_use": "gauge",
    "ready": "gauge",
    "restarts": "counter",
    "node_ready": "gauge",
    "gpu_use": "gauge",
    "gpu_power": "gauge",
    "gpu_temperature": "gauge",
    "gpu_xid": "gauge",
    "gpu_row_remap_failure": "gauge",
    "gpu_row_remap_pending": "gauge",
    "gpu_ecc_dbe": "gauge",
}
"""Every measure that indicators are made of, and what its series must be (s, tokens, ratios 0..1, W, °C)."""


class Outcomes(Model):
    """How a label of a counter tells good events from bad ones; other values are not counted."""

    label: str
    good: tuple[str, ...]
    bad: tuple[str, ...]


class Measure(Model):
    """The series of one measure. Of several names the first that a target exposes is taken."""

    type: MeasureType
    series: tuple[str, ...] = Field(min_length=1)
    match: dict[str, str] = Field(default_factory=dict, description="label values that the series must have")
    per: tuple[str, ...] = Field(
        (), description="further labels to keep apart: ranks, whose counters reset alone"
    )
    aggregate: Literal["sum", "max"] = "sum"
    fold: Literal["sum", "mean", "max"] | None = Field(
        None, description="for gauges: how the value of a target follows from its parts; sum if left out"
    )
    scale: float = 1.0
    outcomes: Outcomes | None = None


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


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a tick. ``measures`` maps each series name to (measure, rank among its names)."""

    name: str
    promql: str
    profile: Profile
    measures: dict[str, tuple[str, int]]


HEARTBEAT = "up"
SCRAPED_AT = "scraped_at"
"""Names of the two queries that say whether, and when, a replica was last scraped."""


def load_profile(text: str, file: str) -> Profile:
    """Read one profile; raise `InvalidInput` that says what is wrong and where."""
    document = next(iter(load_documents(text, file)))
    if document.problems:
        raise InvalidInput(str(document.problems[0]))
    try:
        return Profile.model_validate(document.data)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        path = ".".join(map(str, detail["loc"])) or "profile"
        msg = f"{file}: {path}: {detail['msg']}"
        raise InvalidInput(msg) from error


def shipped() -> dict[str, Profile]:
    """Return the profiles that come with the package, by name."""
    folder = resources.files("controlplane.observe.profiles")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".yaml")), key=lambda f: f.name)
    profiles = [load_profile(file.read_text("utf-8"), file.name) for file in files]
    return {profile.name: profile for profile in profiles}


def queries(profile: Profile, service: Service) -> list[Query]:
    """Return the queries of one tick for one profile."""
    return list(_queries(profile, service))


def _queries(profile: Profile, service: Service) -> Iterator[Query]:
    labels = target_labels(profile, service)
    scope = {service.spec.metric_labels.service: service.name} if profile.scoped else {}
    if profile.heartbeat:
        up = _selector(scope, f'{labels.replica}!=""', name="up")
        by = ", ".join(filter(None, (labels.zone, labels.node, labels.replica)))
        yield Query(HEARTBEAT, f"min by ({by}) ({up})", profile, {})
        yield Query(SCRAPED_AT, f"max by ({by}) (timestamp({up}))", profile, {})
    for index, (_, group) in enumerate(groupby(profile.measures.items(), key=_together)):
        members = dict(group)
        first = next(iter(members.values()))
        suffix = "_bucket" if first.type == "histogram" else ""
        names = {
            series + suffix: (name, rank)
            for name, measure in members.items()
            for rank, series in enumerate(measure.series)
        }
        extra = {label for measure in members.values() for label in _extra_labels(measure)}
        wanted = ["__name__", *filter(None, (labels.zone, labels.node, labels.replica)), *sorted(extra)]
        selector = _selector({**scope, **first.match}, f'__name__=~"{"|".join(names)}"')
        text = f"{first.aggregate} by ({', '.join(wanted)}) ({selector})"
        yield Query(f"{profile.name}/{index}", text, profile, names)


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


def _together(item: tuple[str, Measure]) -> tuple[str, ...]:
    """Measures with the same key share a query; a histogram has one of its own."""
    name, measure = item
    own = name if measure.type == "histogram" else ""
    match = (f"{key}={value}" for key, value in measure.match.items())
    return (measure.type, own, measure.aggregate, *match, *(f"per {label}" for label in measure.per))


def _extra_labels(measure: Measure) -> Iterator[str]:
    yield from measure.per
    if measure.type == "histogram":
        yield "le"
    if measure.outcomes:
        yield measure.outcomes.label


def _selector(match: dict[str, str], *more: str, name: str = "") -> str:
    parts = [f'{label}="{value}"' for label, value in match.items()]
    return f"{name}{{{', '.join([*parts, *more])}}}"
