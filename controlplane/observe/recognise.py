"""Whose a /metrics text is, of which release, how sure that is, and which indicators it gives.

By the names of its families alone: engines do not say what they are. A release that nobody
has seen is told as such, and what it lacks by name with the nearest name that is there. It
reads a text that is given and asks nobody.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from controlplane.model.base import Model
from controlplane.model.service import Objectives
from controlplane.observe import buckets
from controlplane.observe.exposition import Exposition
from controlplane.observe.grading import Graded, Offer, exporters, grade_all, with_heartbeat
from controlplane.observe.profile import UP, Engine, Generation, Measure, Profile, Series

Sureness = Literal["certain", "likely", "unsure"]
_LATENCIES = ("ttft", "tpot", "itl")
_NEAR = 0.6
_ENOUGH_MARKS = 0.6
"""Share of the marks of an engine without a prefix that must be there."""


class Recognised(Model):
    """What a text is.

    ``sure``: certain when every family that tells the release is there and none that must not
    be; likely when some are; unsure when only the names' beginnings speak for it.
    """

    kind: Literal["engine", "exporter", "unknown"]
    profile: str | None = Field(None, description="the name of the profile that reads it")
    title: str
    generation: str | None = Field(
        None, description="the releases that export so; null for one not known here"
    )
    sure: Sureness
    because: tuple[str, ...] = ()


class Report(Model):
    """What a text of metrics is good for."""

    where: str
    recognised: Recognised
    families: int
    samples: int
    broken: tuple[str, ...] = Field((), description="lines that could not be read, and were left out")
    indicators: tuple[Graded, ...]


def examine(
    exposition: Exposition, where: str, profiles: Mapping[str, Profile], objectives: Objectives
) -> Report:
    """Say what a text is, and grade every indicator on it."""
    names = exposition.families()
    recognised, profile, generation = recognise(names, profiles)
    rows = _graded(exposition, profile, generation, profiles)
    return Report(
        where=where,
        recognised=recognised,
        families=len(exposition.types) or len({sample.name for sample in exposition.samples}),
        samples=len(exposition.samples),
        broken=tuple(str(each) for each in exposition.broken),
        indicators=tuple(_noted(row, exposition, profile, objectives) for row in rows),
    )


def recognise(
    names: set[str], profiles: Mapping[str, Profile]
) -> tuple[Recognised, Profile | None, Generation | None]:
    """Say what a set of family names is."""
    scores = {name: _score(profile, names) for name, profile in profiles.items()}
    engines = [name for name, profile in profiles.items() if profile.engine and scores[name] > 0]
    for name in engines:
        engine = profiles[name].engine
        stranger = next((each for each in engine.impostors if each in names), None) if engine else None
        if engine and stranger:
            title = f"not {engine.title} itself, but {engine.impostors[stranger]}"
            return (
                Recognised(kind="unknown", title=title, sure="likely", because=(f"shows {stranger}",)),
                None,
                None,
            )
    best = max(engines, key=lambda name: scores[name], default=None)
    if best is not None and (engine := profiles[best].engine) is not None:
        generation, sure, because = _release(engine, names)
        others = [name for name in engines if name != best]
        because += [f"also names of the profile {', '.join(others)}"] if others else []
        found = Recognised(
            kind="engine",
            profile=best,
            title=engine.title,
            generation=generation.name if generation else None,
            sure=sure,
            because=tuple(because),
        )
        return found, profiles[best], generation
    exporter = max(exporters(profiles), key=lambda name: scores[name], default=None)
    if exporter is not None and scores[exporter] > 0:
        known = sorted(_known_names(profiles[exporter]) & names)
        title = f"no engine, but what the profile `{exporter}` reads"
        found = Recognised(
            kind="exporter",
            profile=exporter,
            title=title,
            sure="likely",
            because=(f"shows {', '.join(known)}",),
        )
        return found, profiles[exporter], None
    return (
        Recognised(kind="unknown", title="nothing that is known here", sure="unsure", because=_guess(names)),
        None,
        None,
    )


def _score(profile: Profile, names: set[str]) -> int:
    """Count what speaks for a profile: its series, and for engines names that begin as theirs do."""
    known = len(_known_names(profile) & names)
    if profile.engine is None:
        return known
    if profile.engine.prefixes:
        return known + sum(name.startswith(profile.engine.prefixes) for name in names)
    marks = set(profile.engine.marks)
    return known if len(marks & names) >= _ENOUGH_MARKS * len(marks) else 0


def _known_names(profile: Profile) -> set[str]:
    return {series.name for measure in profile.measures.values() for series in measure.series}


def _release(engine: Engine, names: set[str]) -> tuple[Generation | None, Sureness, list[str]]:
    """Find the generation that fits best, the newest of those that fit in full."""
    full = [each for each in engine.generations if set(each.has) <= names and not set(each.without) & names]
    if full:
        return full[-1], "certain", [f"shows {', '.join(full[-1].has)}"]
    partly = [each for each in engine.generations if set(each.has) & names]
    if partly:
        best = max(partly, key=lambda each: _fit(each, names))
        shown = [name for name in best.has if name in names]
        odd = [f"lacks {name}" for name in best.has if name not in names]
        odd += [f"shows {name}, which that release does not" for name in best.without if name in names]
        return best, "likely", [f"shows {', '.join(shown)}", *odd]
    return None, "unsure", ["none of the families that tell the known releases apart: newer or changed?"]


def _fit(generation: Generation, names: set[str]) -> float:
    for_it = len(set(generation.has) & names) / len(generation.has)
    return for_it - len(set(generation.without) & names) / max(1, len(generation.without))


def _guess(names: set[str]) -> tuple[str, ...]:
    heads = Counter(name.split(":")[0] + ":" if ":" in name else name.split("_")[0] + "_" for name in names)
    usual = {"python_", "process_", "go_", "promhttp_", "http_"}
    found = [f"{head} ({count})" for head, count in heads.most_common() if head not in usual][:5]
    return (f"names begin with {', '.join(found)}",) if found else ("it shows only what any program shows",)


def _graded(
    exposition: Exposition,
    profile: Profile | None,
    generation: Generation | None,
    profiles: Mapping[str, Profile],
) -> list[Graded]:
    others = exporters(profiles)
    if profile is None:
        return grade_all(
            Offer({}, dict.fromkeys(_engine_measures(profiles), "no known engine's series")), others
        )
    if profile.engine is None:
        missing = dict.fromkeys(_engine_measures(profiles), "an engine shows it, this is none")
    else:
        missing = _missing(exposition, profile, profile.engine, generation)
    series = {
        name: found for name, measure in profile.measures.items() if (found := _present(exposition, measure))
    }
    others = {name: other for name, other in others.items() if name != profile.name}
    return grade_all(Offer(with_heartbeat(profile, series), missing), others)


def _engine_measures(profiles: Mapping[str, Profile]) -> list[str]:
    others = {name for profile in exporters(profiles).values() for name in profile.measures}
    known = {name for profile in profiles.values() if profile.engine for name in [*profile.measures, UP]}
    return sorted(known - others)


def _present(exposition: Exposition, measure: Measure) -> tuple[Series, ...]:
    """Return the series of a measure that would be read: of the lowest rank that is there."""
    found: dict[int, list[Series]] = {}
    for rank, series in measure.ranks():
        if _is_there(exposition, measure, series):
            found.setdefault(rank, []).append(series)
    return tuple(found[min(found)]) if found else ()


def _is_there(exposition: Exposition, measure: Measure, series: Series) -> bool:
    """Tell whether a series is shown, or declared and waiting for its first event."""
    samples = exposition.of(_sample_name(measure, series))
    if not samples:
        return exposition.declares(_sample_name(measure, series))
    match = {**measure.match, **series.match}.items()
    return any(
        all(sample.labels.get(label) == value for label, value in match)
        and all(_is_number(sample.labels.get(label, "")) for label in series.product)
        for sample in samples
    )


def _sample_name(measure: Measure, series: Series) -> str:
    return f"{series.name}_bucket" if measure.type == "histogram" else series.name


def _missing(
    exposition: Exposition, profile: Profile, engine: Engine, generation: Generation | None
) -> dict[str, str]:
    """Say of every measure that the text does not feed why, by name."""
    lacks = {**engine.lacks, **(generation.lacks if generation else {})}
    known = _known_names(profile)
    strange = [
        name
        for name in exposition.families()
        if name.startswith(engine.prefixes or ("",)) and name not in known
    ]
    reasons = dict(lacks)
    for name, measure in profile.measures.items():
        if name in lacks or _present(exposition, measure):
            continue
        wanted = [series.name for series in measure.series]
        near = list(
            dict.fromkeys(
                match
                for each in wanted
                for match in difflib.get_close_matches(each, strange, n=1, cutoff=_NEAR)
            )
        )
        hint = f"; nearest here: {', '.join(near)}" if near else ""
        reasons[name] = f"{' and '.join(wanted)} not in this text{hint}"
    return reasons


def _noted(row: Graded, exposition: Exposition, profile: Profile | None, objectives: Objectives) -> Graded:
    """Add what the text itself says: how the objective falls on the buckets, and series without a sample."""
    notes = list(row.notes)
    if profile is not None and row.reads in _LATENCIES and row.grade != "unavailable":
        measure = profile.measures[row.reads]
        threshold = objectives.ttft if row.reads == "ttft" else objectives.tpot
        for series in _present(exposition, measure):
            bounds = [bound * measure.scale for bound in exposition.bounds(series.name)]
            notes += [buckets.snapping(bounds, threshold)] if bounds else []
    silent = [name for name in row.series if _is_silent(exposition, name)]
    notes += [f"no sample yet of {', '.join(silent)}"] if silent else []
    return row.model_copy(update={"notes": tuple(notes)}) if notes else row


def _is_silent(exposition: Exposition, selector: str) -> bool:
    name = selector.partition("{")[0]
    return name != UP and not exposition.of(name) and not exposition.of(f"{name}_bucket")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
