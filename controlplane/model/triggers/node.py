"""Triggers on a node of which its cluster says something bad: not ready, short of something, or broken.

Not ready is unreachable, or with a kubelet that fails. Every other condition is bad while it holds: of
memory, disk and processes the kubelet runs short, and evicts pods while the node serves on, which is a
ticket; without a network, or with what a monitor of nodes found (a GPU that fails), it pages. What half
of a zone's nodes have in common is the zone's trouble, its power or its network: then no machine is to
blame, and none is called for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from controlplane.model.base import Duration
from controlplane.model.signals import SignalState, Verdict
from controlplane.model.target import Signal, Target
from controlplane.model.triggers.base import Look, Trigger

NODE = "node"
NOT_READY = "not-ready"
READY, CONDITIONS = "node_ready", "node_conditions"
"""The indicators that are asked: 1 while the node is ready, and 1 while it has one of the others."""
DEGRADES = frozenset({"MemoryPressure", "DiskPressure", "PIDPressure"})
"""Conditions of a node that goes on serving."""

LEAST = 2
"""So many nodes of a zone, and at least half of them, are the zone; as incidents fold."""

Condition = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9._-]*$")]


class NodeTrigger(Trigger):
    """Fires on a node with a bad condition for long enough, unless half of its zone's nodes have it."""

    type: Literal["node"]
    for_: Duration = Field(10.0, alias="for", validate_default=False)
    conditions: tuple[Condition, ...] = Field(
        ("Ready",),
        min_length=1,
        description="of which one is enough: `Ready` when it does not hold, any other while it does",
    )

    def describe(self) -> str:
        return ", ".join(f"{NODE}:{_name(condition)}" for condition in self.conditions)

    def answers(self, signal: Signal) -> bool:
        names = {_name(condition) for condition in self.conditions}
        return (signal.kind, signal.target.level) == (NODE, "node") and signal.name in names

    def verdicts(self, look: Look) -> Iterator[Verdict]:
        """Look at every node, and at its zone's others."""
        for condition in self.conditions:
            yield from self._of(condition, look)

    def _of(self, condition: str, look: Look) -> Iterator[Verdict]:
        ready, name = condition == "Ready", _name(condition)
        asked = READY if ready else CONDITIONS
        blind = look.is_blind(asked, "node")
        values = {
            target: look.value(asked if ready else f"{asked}/{condition}", target)
            for target in look.targets
            if target.level == "node"
        }
        bad = {target for target, value in values.items() if value is not None and (value < 1) is ready}
        wide, told = _wide(values, bad), "are not ready" if ready else f"have {condition}"
        for target, value in values.items():
            zone = target.at("zone")
            fires = target in bad and zone not in wide
            state = SignalState(
                good=None if value is None else target not in bad,
                value=value,
                objective=float(ready),
                samples=float(value is not None),
                since=look.at,
                until=look.at,
                detail=f"{wide[zone]} {told}" if target in bad and zone in wide else "",
            )
            yield Verdict(
                Signal(NODE, name, target),
                state,
                tiers=(name,) if fires else (),
                severity="ticket" if condition in DEGRADES else "page",
                accusers=look.accusers(asked, target) if fires else frozenset(),
                blind=blind,
                hold=self.for_,
            )


def _wide(nodes: Iterable[Target], bad: Collection[Target]) -> dict[Target, str]:
    """Return the zones that are bad as a whole, and how many of their nodes are."""
    total, lost = (Counter(target.at("zone") for target in some) for some in (nodes, bad))
    return {
        zone: f"{count} of {total[zone]} nodes of {zone.name}"
        for zone, count in lost.items()
        if count >= LEAST and 2 * count >= total[zone]
    }


def _name(condition: str) -> str:
    """Return a condition as a signal's name: `MemoryPressure` is ``memory-pressure``."""
    if condition == "Ready":
        return NOT_READY
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", condition).lower()
