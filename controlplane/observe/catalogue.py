"""The SLI library as data: what each indicator means, and the ways in which it can be had.

`indicators.yaml` declares them; a way names the measures it rests on and, where it is no
more than a bound, which bound and why. `controlplane.observe.grading` holds the ways
against what an engine offers, `controlplane.observe.measures` works them out. It computes
nothing itself.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Literal, Self

from pydantic import Field, model_validator

from controlplane.kernel.registry import did_you_mean
from controlplane.model.base import Model
from controlplane.observe.profile import MEASURES, UP, load_data

Bound = Literal["lower", "upper", "estimate"]


class Input(Model):
    """Something an indicator needs that no series shows. ``known``: Fleetward has it without being told."""

    known: bool
    what: str


class Way(Model):
    """One way to an indicator. ``reads``: the value of the library that works it out, if not its own name."""

    needs: tuple[str, ...] = Field(min_length=1)
    bound: Bound | None = None
    why: str = ""
    note: str = ""
    reads: str | None = None

    @model_validator(mode="after")
    def _says_why(self) -> Self:
        if (self.bound is None) != (not self.why):
            msg = "a way with a bound says why, and only such a one"
            raise ValueError(msg)
        return self


class Sli(Model):
    """One indicator; ``family`` counts the design's list of indicators from 1."""

    name: str
    family: int = Field(ge=1)
    unit: str
    better: Literal["higher", "lower", "neither"]
    meaning: str
    formula: str
    sources: tuple[str, ...] = Field(min_length=1)
    ways: tuple[Way, ...] = Field(min_length=1, description="tried in this order")


class Catalogue(Model):
    """All indicators that engines are held against."""

    families: tuple[str, ...]
    inputs: dict[str, Input]
    indicators: tuple[Sli, ...]

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        known = [*MEASURES, UP, *self.inputs]
        names = [sli.name for sli in self.indicators]
        if len(names) != len(set(names)):
            msg = "an indicator is declared twice"
            raise ValueError(msg)
        for sli in self.indicators:
            for need in (need for way in sli.ways for need in way.needs):
                if need not in known:
                    msg = f"`{sli.name}` needs an unknown measure `{need}`; {did_you_mean(need, known)}"
                    raise ValueError(msg)
        if {sli.family for sli in self.indicators} != set(range(1, len(self.families) + 1)):
            msg = "every family has an indicator, and every indicator a family"
            raise ValueError(msg)
        return self

    def family_of(self, sli: Sli) -> str:
        return self.families[sli.family - 1]


@functools.cache
def catalogue() -> Catalogue:
    """Return the indicators that come with the package."""
    file = resources.files("controlplane.observe") / "indicators.yaml"
    return load_data(Catalogue, file.read_text("utf-8"), "indicators.yaml")
