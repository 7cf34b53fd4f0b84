"""How well an indicator can be had: exactly, as a bound that says which, or not at all and why.

An offer says which series feed which measure: of a generation of an engine, of one text of
metrics, or of both with other sources beside them. The ways of an indicator are held
against it in their order; a caveat of a series makes a bound of an exact way. It reads
nothing, so that the matrix in the documentation, the API and `fleetward engines check` say
the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import Field

from controlplane.model.base import Model
from controlplane.observe.catalogue import Bound, Catalogue, Sli, Way, catalogue
from controlplane.observe.profile import UP, Generation, Profile, Series

Grade = Literal["exact", "bounded", "unavailable"]


class Better(Model):
    """What an indicator becomes with sources beside the engine."""

    grade: Grade
    bound: Bound | None = None
    sources: tuple[str, ...] = Field(description="the profiles that have to be scraped as well")
    series: tuple[str, ...]


class Graded(Model):
    """One indicator of one engine. ``series`` are what it would be read from."""

    indicator: str
    family: int
    unit: str
    better: Literal["higher", "lower", "neither"]
    grade: Grade
    bound: Bound | None = None
    why: str = Field("", description="of a bound: why it is no more")
    series: tuple[str, ...] = ()
    reason: str = Field("", description="of what is unavailable: what is missing")
    notes: tuple[str, ...] = ()
    needs: tuple[str, ...] = Field((), description="what has to be said or scraped beside these series")
    reads: str = Field("", description="the value of the library that works it out")
    with_: Better | None = Field(None, alias="with", description="how much better it is with other sources")


@dataclass(frozen=True, slots=True)
class Offer:
    """The series that are there, by measure, and why others are not."""

    series: Mapping[str, Sequence[Series]]
    missing: Mapping[str, str] = field(default_factory=dict)
    owner: Mapping[str, str] = field(default_factory=dict)
    """The profile behind a measure, where it is not the one in question."""

    def beside(self, others: Mapping[str, Profile]) -> Offer:
        """Return this offer with what other sources would add; what is here already stays."""
        series, owner = dict(self.series), dict(self.owner)
        for profile in others.values():
            for name, measure in profile.measures.items():
                if name not in series:
                    series[name] = _first(measure.ranks())
                    owner[name] = profile.name
        return Offer(series, self.missing, owner)


def offer_of(profile: Profile, generation: Generation) -> Offer:
    """Return what a generation of an engine exports."""
    engine = profile.engine
    lacks = {**(engine.lacks if engine else {}), **generation.lacks}
    series: dict[str, Sequence[Series]] = {}
    for name, measure in profile.measures.items():
        there = [(rank, each) for rank, each in measure.ranks() if each.name not in lacks]
        if name not in lacks and there:
            series[name] = _first(there)
    return Offer(with_heartbeat(profile, series), lacks)


def with_heartbeat(
    profile: Profile, series: Mapping[str, Sequence[Series]]
) -> Mapping[str, Sequence[Series]]:
    """Add what every scrape of an engine tells: whether it was answered."""
    return {**series, UP: (Series(name=UP),)} if profile.heartbeat else series


def exporters(profiles: Mapping[str, Profile]) -> dict[str, Profile]:
    """Return the profiles that are no engine's: what can be scraped beside one."""
    return {name: profile for name, profile in profiles.items() if profile.engine is None}


def grade_all(offer: Offer, beside: Mapping[str, Profile]) -> list[Graded]:
    """Grade every indicator from an offer alone, and tell what the exporters ``beside`` would add."""
    book = catalogue()
    return [_grade(sli, offer, offer.beside(beside), book) for sli in book.indicators]


def _grade(sli: Sli, alone: Offer, beside: Offer, book: Catalogue) -> Graded:
    base = {"indicator": sli.name, "family": sli.family, "unit": sli.unit, "better": sli.better}
    found = next((way for way in sli.ways if not _lacking(way, alone, book)), None)
    better = next((way for way in sli.ways if not _lacking(way, beside, book)), None)
    more = _better(better, beside) if better is not None and better is not found else None
    if found is None:
        reason = _reason(sli, alone, beside, book)
        return Graded.model_validate({**base, "grade": "unavailable", "reason": reason, "with": more})
    bound, whys = _bound(found, alone)
    notes = (found.note,) if found.note else ()
    return Graded.model_validate(
        {
            **base,
            "grade": "bounded" if bound else "exact",
            "bound": bound,
            "why": "; ".join(whys),
            "series": _names(found, alone),
            "notes": notes,
            "needs": tuple(_said(found, book)),
            "reads": found.reads or sli.name,
            "with": more if more is not None and _is_more(more, bound) else None,
        }
    )


def _is_more(more: Better, bound: Bound | None) -> bool:
    return more.grade == "exact" or bound is not None


def _better(way: Way, beside: Offer) -> Better:
    bound, _ = _bound(way, beside)
    owners = {beside.owner[need] for need in way.needs if need in beside.owner}
    return Better(
        grade="bounded" if bound else "exact",
        bound=bound,
        sources=tuple(sorted(owners)),
        series=tuple(_names(way, beside)),
    )


def _bound(way: Way, offer: Offer) -> tuple[Bound | None, list[str]]:
    """Return the bound of a way on an offer, and why.

    A caveat keeps its direction only where its series is the whole way: in a quotient or a
    product nobody can tell which way it pulls.
    """
    caveats = [each.caveat for need in way.needs for each in offer.series.get(need, ()) if each.caveat]
    whys = list(dict.fromkeys([*([way.why] if way.why else []), *(caveat.why for caveat in caveats)]))
    if not caveats:
        return way.bound, whys
    kinds = {caveat.bound for caveat in caveats}
    alone = way.bound is None and len(way.needs) == 1 and len(kinds) == 1
    return (kinds.pop() if alone else "estimate"), whys


def _lacking(way: Way, offer: Offer, book: Catalogue) -> list[str]:
    return [need for need in way.needs if need not in offer.series and need not in book.inputs]


def _names(way: Way, offer: Offer) -> list[str]:
    found = [_selector(each) for need in way.needs for each in offer.series.get(need, ())]
    return list(dict.fromkeys(found))


def _said(way: Way, book: Catalogue) -> Iterator[str]:
    for need in way.needs:
        if need in book.inputs and not book.inputs[need].known:
            yield book.inputs[need].what


def _selector(series: Series) -> str:
    match = ", ".join(f'{label}="{value}"' for label, value in series.match.items())
    return f"{series.name}{{{match}}}" if match else series.name


def _reason(sli: Sli, alone: Offer, beside: Offer, book: Catalogue) -> str:
    """Say what is missing on the way that comes nearest and can be told; of two, on the better one."""

    def distance(way: Way) -> tuple[int, int]:
        lacking = _lacking(way, alone, book)
        dark = [need for need in lacking if need not in alone.missing and need not in beside.owner]
        return len(dark), len(lacking)

    way = min(sli.ways, key=distance)
    parts = []
    for need in _lacking(way, alone, book):
        if need in alone.missing:
            parts.append(alone.missing[need])
        elif need in beside.owner:
            names = ", ".join(each.name for each in beside.series[need])
            parts.append(f"needs {names} of {beside.owner[need]}")
        else:
            parts.append(f"no series for `{need}` is known")
    return "; ".join(dict.fromkeys(parts))


def _first(ranked: Iterator[tuple[int, Series]] | Sequence[tuple[int, Series]]) -> tuple[Series, ...]:
    """Return the series of the lowest rank: those that would be read together."""
    found = list(ranked)
    best = min(rank for rank, _ in found)
    return tuple(series for rank, series in found if rank == best)
