"""Levers: what the field knows to do about each indicator, as data that is checked, each with its source.

`levers.yaml` says which indicator a lever helps, which values speak for or against it and why, and which
playbook pulls it or what people do. `controlplane.decide.advice` holds it against a service. An indicator
without a lever, a value that the library has not, or a lever without a source does not load.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import resources
from typing import Literal, Self

from pydantic import Field, model_validator

from controlplane.kernel.registry import did_you_mean
from controlplane.model.base import Model
from controlplane.observe.library import INDICATORS
from controlplane.observe.profile import load_data

Limit = float | Literal["effective.ttft", "effective.tpot"]
"""A number, or one of the Service's own bounds."""


class Bound(Model):
    """A value of the library beyond a limit."""

    value: str = Field(description="a value of the library")
    above: Limit | None = None
    below: Limit | None = None

    @model_validator(mode="after")
    def _is_of_the_library(self) -> Self:
        if self.value not in INDICATORS:
            msg = f"unknown value `{self.value}`; {did_you_mean(self.value, list(INDICATORS))}"
            raise ValueError(msg)
        return self


class Condition(Bound):
    """One comparison of a rule."""

    @model_validator(mode="after")
    def _has_one_limit(self) -> Self:
        if (self.above is None) == (self.below is None):
            msg = "write either `above` or `below`"
            raise ValueError(msg)
        return self


class Evidence(Model):
    """A rule: when all of it holds, it speaks for the lever or against it."""

    says: Literal["for", "against"]
    all: tuple[Condition, ...] = Field(min_length=1)
    why: str


class Literature(Model):
    """Where something was shown."""

    title: str
    at: str = Field(pattern=r"^https://")


class Aim(Bound):
    """When an indicator is off its target, where no SLO says so; or why it has no bound of its own."""

    name: str
    no_bound: str = Field("", description="why there is none")

    @model_validator(mode="after")
    def _has_a_bound_or_a_reason(self) -> Self:
        if (self.above is None and self.below is None) == (not self.no_bound):
            msg = f"`{self.name}` needs either a bound or a reason for having none"
            raise ValueError(msg)
        return self


class Lever(Model):
    """Something that can be done."""

    name: str
    title: str
    does: str
    for_: tuple[str, ...] = Field(alias="for", min_length=1, description="indicators that it helps")
    playbook: str | None = Field(None, description="the shipped playbook that pulls it")
    by_hand: str = Field("", description="what people do, where no playbook does, or beside it")
    sources: tuple[str, ...] = Field(min_length=1)
    evidence: tuple[Evidence, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _can_be_pulled(self) -> Self:
        if self.playbook is None and not self.by_hand:
            msg = f"nothing pulls `{self.name}`: name a playbook or say what people do"
            raise ValueError(msg)
        return self


class Book(Model):
    """All of it."""

    sources: dict[str, Literature]
    indicators: tuple[Aim, ...]
    levers: tuple[Lever, ...]

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        for problem in (*self._names(), *self._uses()):
            raise ValueError(problem)
        return self

    def of(self, indicator: str) -> list[Lever]:
        """Return the levers of an indicator."""
        return [lever for lever in self.levers if indicator in lever.for_]

    def _names(self) -> Iterator[str]:
        for what, names in (
            ("indicator", [aim.name for aim in self.indicators]),
            ("lever", [lever.name for lever in self.levers]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            yield from (f"the {what} `{name}` is there twice" for name in twice)

    def _uses(self) -> Iterator[str]:
        aims = [aim.name for aim in self.indicators]
        for lever in self.levers:
            for name in lever.for_:
                if name not in aims:
                    yield f"`{lever.name}` helps an unknown indicator `{name}`; {did_you_mean(name, aims)}"
            for name in lever.sources:
                if name not in self.sources:
                    hint = did_you_mean(name, list(self.sources))
                    yield f"`{lever.name}` names an unknown source `{name}`; {hint}"
        yield from (f"no lever helps `{name}`" for name in aims if not self.of(name))
        used = {name for lever in self.levers for name in lever.sources}
        yield from (f"nothing rests on the source `{name}`" for name in self.sources if name not in used)


@functools.cache
def book() -> Book:
    """Return the levers that come with the package."""
    file = resources.files("controlplane.decide") / "levers.yaml"
    return load_data(Book, file.read_text("utf-8"), "levers.yaml")
