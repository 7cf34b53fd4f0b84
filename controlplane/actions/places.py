"""How actions find the one replica or node that is meant, by its target or by its name alone.

It refuses to guess: nothing of that name is an error with the nearest one, and so are two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.kernel.registry import did_you_mean
from controlplane.model.target import Target


class View(Protocol):
    """What the platform shows of a thing that has a name."""

    @property
    def name(self) -> str: ...


V = TypeVar("V", bound=View)


def find(
    places: Sequence[tuple[Target, V]], *, target: str | None, name: str | None, what: str, service: str
) -> tuple[Target, V]:
    """Return the place that ``target``, or without it ``name``, says; ``what`` is the parameter's name.

    Raises `NotFound`, and `InvalidInput` when several bear the name.
    """
    wanted = str(Target.parse(target)) if target else str(name)
    called = [(str(place) if target else view.name, (place, view)) for place, view in places]
    found = [each for each_name, each in called if each_name == wanted]
    if not found:
        msg = f"{service} has no {what} `{wanted}`"
        raise NotFound(msg, hint=did_you_mean(wanted, [each_name for each_name, _ in called]))
    if len(found) > 1:
        msg = f"{len(found)} {what}s are called `{wanted}`"
        raise InvalidInput(msg, hint=f"write `target` instead of `{what}`")
    return found[0]


def at(target: Target, places: Sequence[tuple[Target, V]]) -> V:
    """Return what stands at ``target`` now, or raise `NotFound`."""
    for place, view in places:
        if place == target:
            return view
    msg = f"{target} is gone"
    raise NotFound(msg)
