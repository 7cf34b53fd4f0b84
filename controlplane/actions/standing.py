"""Actions that declare how parts of the fleet shall stand: in rotation or not, open for new work or not.

One place for what such actions touch, plan, look at after a lost answer, and take back. An action says
which fields of which parts it declares; how it gets there is its own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from controlplane.actions import nodes, replicas
from controlplane.model.action import Action, ActionContext, Change, Dimension, Touch, UndoRecord, UndoResult
from controlplane.model.base import Model
from controlplane.model.outcome import Again, Outcome
from controlplane.model.target import Target
from controlplane.model.topology import NodeView, ReplicaView

P = TypeVar("P", bound=Model)

Slots = list[tuple[Target, ReplicaView]]


@dataclass(frozen=True, slots=True)
class Stand:
    """One field of one part, as it stands."""

    target: Target
    field: str
    present: bool


class Declaration(Action[P]):
    """What all of them have in common. ``wanted`` is what shall stand: False takes away, True gives back."""

    reversible = True
    looks_first = True
    wanted: ClassVar[bool]
    loses: ClassVar[Dimension] = Dimension.CAPACITY
    """What the part loses while it stands otherwise."""

    @abstractmethod
    def stands(self, parameters: P, context: ActionContext) -> tuple[Target, Sequence[Stand]]:
        """Return the part that is meant, and what is declared of it in the order of the writes.

        Raises `NotFound`.
        """

    def touches(self, parameters: P, context: ActionContext) -> list[Touch]:
        target, _ = self.stands(parameters, context)
        returns = self.wanted and self.loses is not Dimension.NOTHING
        return [Touch(target, self.loses, returns=returns)]

    def plan(self, parameters: P, context: ActionContext) -> list[Change]:
        _, found = self.stands(parameters, context)
        return [
            Change(one.target, one.field, one.present, self.wanted)
            for one in found
            if one.present != self.wanted
        ]

    def observe(self, parameters: P, context: ActionContext) -> Outcome:
        """Go on: each field says by itself whether it was written."""
        return Again(0.0, dict(context.state), "the answer was lost: looking at what stands there")

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        if record.field == nodes.SCHEDULABLE:
            return nodes.restore_schedulable(record, context)
        return replicas.restore_rotation(record, context)


class ReplicaDeclaration(Declaration[P]):
    """A declaration about the one replica that `replicas.ReplicaParameters` name."""

    permissions = replicas.PERMISSIONS

    def stands(self, parameters: Any, context: ActionContext) -> tuple[Target, Sequence[Stand]]:
        target, view = replicas.find(parameters, context)
        return target, rotation_of([(target, view)])


class NodeDeclaration(Declaration[P]):
    """A declaration about the one node that `nodes.NodeParameters` name, and about its replicas."""

    permissions = tuple(dict.fromkeys((*nodes.PERMISSIONS, *replicas.PERMISSIONS)))

    def stands(self, parameters: Any, context: ActionContext) -> tuple[Target, Sequence[Stand]]:
        """Return its replicas, and whether it is open: that is closed first, and opened last."""
        target, view = nodes.find(parameters, context)
        rotation = rotation_of(self.slots(parameters, target, view))
        opening = opening_of(target, view)
        return target, [*rotation, opening] if self.wanted else [opening, *rotation]

    def slots(self, parameters: P, target: Target, view: NodeView) -> Slots:
        """Return the replicas of the node that are meant: all that it holds."""
        del parameters
        return slots_of(target, view)


def slots_of(target: Target, view: NodeView) -> Slots:
    """Return what a node holds, with full targets."""
    return [
        (Target(target.service, target.cluster, target.zone, target.node, each.name), each)
        for each in view.replicas
    ]


def rotation_of(slots: Slots) -> list[Stand]:
    """Return the rotation of replicas, as it stands."""
    return [Stand(place, replicas.IN_ROTATION, view.in_rotation) for place, view in slots]


def opening_of(target: Target, view: NodeView) -> Stand:
    """Return whether a node is open for new work."""
    return Stand(target, nodes.SCHEDULABLE, view.schedulable)
