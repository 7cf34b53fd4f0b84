"""Triggers on a node that its cluster calls not ready: unreachable, or with a kubelet that fails.

What half of a zone's nodes have in common is the zone's trouble, its power or its network: then no
machine is to blame, and none is called for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from controlplane.model.base import Duration
from controlplane.model.signals import SignalState, Verdict
from controlplane.model.target import Signal
from controlplane.model.triggers.base import Look, Trigger

NODE = "node"
NOT_READY = "not-ready"
READY = "node_ready"
"""The indicator that is asked: 1 while the node is ready."""

LEAST = 2
"""So many nodes of a zone, and at least half of them, are the zone; as incidents fold."""


class NodeTrigger(Trigger):
    """Fires on a node that is not ready for long enough, unless half of its zone's nodes are not."""

    type: Literal["node"]
    for_: Duration = Field(10.0, alias="for", validate_default=False)

    def describe(self) -> str:
        return f"{NODE}:{NOT_READY}"

    def answers(self, signal: Signal) -> bool:
        return (signal.kind, signal.name, signal.target.level) == (NODE, NOT_READY, "node")

    def verdicts(self, look: Look) -> Iterator[Verdict]:
        """Look at every node, and at its zone's others."""
        values = {target: look.value(READY, target) for target in look.targets if target.level == "node"}
        down = {target for target, value in values.items() if value is not None and value < 1}
        total, lost = (Counter(target.at("zone") for target in nodes) for nodes in (values, down))
        blind = look.is_blind(READY, "node")
        for target, value in values.items():
            zone = target.at("zone")
            wide = target in down and lost[zone] >= LEAST and 2 * lost[zone] >= total[zone]
            fires = target in down and not wide
            state = SignalState(
                good=None if value is None else target not in down,
                value=value,
                objective=1.0,
                samples=float(value is not None),
                since=look.at,
                until=look.at,
                detail=f"{lost[zone]} of {total[zone]} nodes of {zone.name} are not ready" if wide else "",
            )
            yield Verdict(
                Signal(NODE, NOT_READY, target),
                state,
                tiers=(NOT_READY,) if fires else (),
                accusers=look.accusers(READY, target) if fires else frozenset(),
                blind=blind,
                hold=self.for_,
            )
