"""Engines against indicators: what each release of each engine gives, by its profile alone.

The reference page and the API are made of this; `controlplane.observe.recognise` does the
same for a text that is really there.
"""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from controlplane.model.base import Model
from controlplane.observe.catalogue import catalogue
from controlplane.observe.grading import Graded, exporters, grade_all, offer_of
from controlplane.observe.profile import Profile


class IndicatorView(Model):
    """One indicator of the library, in words."""

    name: str
    family: int = Field(description="its place in the list of indicators, from 1")
    title: str = Field(description="what that place is called")
    unit: str
    better: str
    meaning: str
    formula: str


class GenerationView(Model):
    """Releases that export alike, and how each indicator can be had of them."""

    name: str
    indicators: tuple[Graded, ...]


class EngineView(Model):
    """One engine that Fleetward reads."""

    name: str = Field(description="the profile's name, as in the Service's `engine`")
    title: str
    generations: tuple[GenerationView, ...]


class Matrix(Model):
    """All engines by all indicators."""

    indicators: tuple[IndicatorView, ...]
    engines: tuple[EngineView, ...]


def matrix(profiles: Mapping[str, Profile]) -> Matrix:
    """Hold every release of every engine against every indicator."""
    beside = exporters(profiles)
    book = catalogue()
    return Matrix(
        indicators=tuple(
            IndicatorView(
                name=sli.name,
                family=sli.family,
                title=book.family_of(sli),
                unit=sli.unit,
                better=sli.better,
                meaning=sli.meaning,
                formula=sli.formula,
            )
            for sli in book.indicators
        ),
        engines=tuple(
            EngineView(
                name=profile.name,
                title=profile.engine.title,
                generations=tuple(
                    GenerationView(
                        name=generation.name,
                        indicators=tuple(grade_all(offer_of(profile, generation), beside)),
                    )
                    for generation in profile.engine.generations
                ),
            )
            for profile in profiles.values()
            if profile.engine is not None
        ),
    )
