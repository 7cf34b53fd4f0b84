"""Named things that others may add to: actions, faults, indicators, triggers.

A registry is an instance, never a module-level global that tests share; an unknown name
is answered with the nearest known one. Third parties add through an entry point: a
callable in group ``fleetward.<kind>`` that is given the registry.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from controlplane.kernel.errors import InvalidInput

T = TypeVar("T")


def nearest(name: str, known: list[str]) -> str | None:
    """Return the known name that ``name`` was probably meant to be, if there is one."""
    matches = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return matches[0] if matches else None


def did_you_mean(name: str, known: list[str]) -> str:
    """Return a sentence part for an error: the nearest name, or all of them."""
    match = nearest(name, known)
    return f"did you mean `{match}`?" if match else f"valid: {', '.join(sorted(known)) or '(none)'}"


class Registry(Generic[T]):
    """Names to things of one kind; ``what`` is the kind's name in messages ("action")."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._things: dict[str, T] = {}

    def add(self, name: str, thing: T) -> T:
        """Register ``thing``; a second one of the same name is a programming error."""
        if name in self._things:
            msg = f"{self.what} `{name}` is registered twice"
            raise ValueError(msg)
        self._things[name] = thing
        return thing

    def get(self, name: str) -> T:
        """Return the thing, or raise `InvalidInput` that names the nearest one."""
        try:
            return self._things[name]
        except KeyError:
            msg = f"unknown {self.what} `{name}`"
            raise InvalidInput(msg, hint=did_you_mean(name, self.names())) from None

    def names(self) -> list[str]:
        return sorted(self._things)

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __iter__(self) -> Iterator[T]:
        return iter(self._things[name] for name in self.names())

    def load_entry_points(self, group: str) -> None:
        """Let every installed package add its own: each entry point is called with this registry."""
        for point in sorted(entry_points(group=group), key=lambda found: found.name):
            point.load()(self)
