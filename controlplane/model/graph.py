"""The order of a plan's steps: what each one needs, and what is wrong with what was written.

A step without ``needs`` follows the one before it in the list; ``needs: []`` starts at once.
It knows names only; when a step may start is the engine's to say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Protocol

from controlplane.kernel.registry import did_you_mean


class Node(Protocol):
    """What the order of a step is made of."""

    @property
    def id(self) -> str: ...

    @property
    def needs(self) -> tuple[str, ...] | None: ...


def dependencies(steps: Sequence[Node]) -> dict[str, tuple[str, ...]]:
    """Return what each step needs, by id."""
    found: dict[str, tuple[str, ...]] = {}
    before: tuple[str, ...] = ()
    for step in steps:
        found[step.id] = before if step.needs is None else step.needs
        before = (step.id,)
    return found


def ranks(steps: Sequence[Node]) -> Mapping[str, int]:
    """Return a number for each step, higher than those of all that it needs; the list's order else."""
    needed = dependencies(steps)
    found: dict[str, int] = {}
    while len(found) < len(needed):
        ready = next(id_ for id_ in needed if id_ not in found and all(each in found for each in needed[id_]))
        found[ready] = len(found)
    return found


def check_order(steps: Sequence[Node]) -> None:
    """Raise `ValueError` for two steps of one id, a need that is no other step, or a circle."""
    ids = [step.id for step in steps]
    for id_ in ids:
        if ids.count(id_) > 1:
            msg = f"two steps are called `{id_}`"
            raise ValueError(msg)
    for step in steps:
        for needed in step.needs or ():
            if needed == step.id:
                msg = f"step `{step.id}` needs itself"
                raise ValueError(msg)
            if needed not in ids:
                hint = did_you_mean(needed, [id_ for id_ in ids if id_ != step.id])
                msg = f"step `{step.id}` needs `{needed}`, which is no step" + (f"; {hint}" if hint else "")
                raise ValueError(msg)
    try:
        TopologicalSorter(dependencies(steps)).prepare()
    except CycleError as error:
        circle = " needs ".join(f"`{id_}`" for id_ in reversed(error.args[1]))
        msg = f"steps wait for each other: {circle}"
        raise ValueError(msg) from error
