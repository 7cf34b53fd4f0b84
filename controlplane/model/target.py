"""Where something is: one type and one text form for a service's parts.

A target is a slot (``chat/local/zone-a/node-a1/replica-a1-0``), never an incarnation;
incarnations have uids. A signal is a kind, a name and a target: the identity of an
incident, the key of throttles, and what a verification looks up.
"""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.kernel.errors import InvalidInput
from controlplane.model.base import Level

LEVELS: tuple[Level, ...] = ("service", "zone", "node", "replica", "gpu")
DEFAULT_CLUSTER = "local"


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """A part of a service; narrower parts are None. A narrower one needs all wider ones."""

    service: str
    cluster: str = DEFAULT_CLUSTER
    zone: str | None = None
    node: str | None = None
    replica: str | None = None
    gpu: str | None = None

    def __str__(self) -> str:
        return "/".join([part for part in self.parts if part is not None])

    @property
    def parts(self) -> tuple[str | None, ...]:
        return (self.service, self.cluster, self.zone, self.node, self.replica, self.gpu)

    @classmethod
    def parse(cls, text: str) -> Target:
        """Read the text form; raise `InvalidInput` for anything else."""
        parts = text.split("/")
        if not 1 <= len(parts) <= len(LEVELS) + 1 or not all(parts):
            msg = f"{text!r} is not a target"
            raise InvalidInput(
                msg, hint="write service/cluster/zone/node/replica, from the left, as far as you need"
            )
        return cls(*parts)

    @property
    def level(self) -> Level:
        """How wide it is: the narrowest part that is given."""
        if self.gpu is not None:
            return "gpu"
        if self.replica is not None:
            return "replica"
        if self.node is not None:
            return "node"
        return "service" if self.zone is None else "zone"

    @property
    def name(self) -> str:
        """The name of the narrowest part."""
        return str(getattr(self, self.level))

    def at(self, level: Level) -> Target:
        """Return the part of this target at a wider (or the same) level."""
        return Target(self.service, self.cluster, *self.parts[2 : LEVELS.index(level) + 2])

    def parent(self) -> Target | None:
        """Return the next wider target; None for the service itself."""
        index = LEVELS.index(self.level)
        return self.at(LEVELS[index - 1]) if index else None

    def contains(self, other: Target) -> bool:
        """Tell whether ``other`` is this target or a part of it."""
        # Spelled out: guards ask this of every part of the fleet, and a loop costs three times as much.
        return (
            self.service == other.service
            and self.cluster == other.cluster
            and (self.zone is None or self.zone == other.zone)
            and (self.node is None or self.node == other.node)
            and (self.replica is None or self.replica == other.replica)
            and (self.gpu is None or self.gpu == other.gpu)
        )

    def overlaps(self, other: Target) -> bool:
        """Tell whether either contains the other."""
        return self.contains(other) or other.contains(self)


@dataclass(frozen=True, slots=True, order=True)
class Signal:
    """Something measured about a target: kind ``slo`` or ``threshold``, and the SLO's or indicator's name."""

    kind: str
    name: str
    target: Target

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}@{self.target}"

    @classmethod
    def parse(cls, text: str) -> Signal:
        """Read the text form back."""
        head, separator, target = text.partition("@")
        kind, colon, name = head.partition(":")
        if not (separator and colon and kind and name):
            msg = f"{text!r} is not a signal"
            raise InvalidInput(msg, hint="write kind:name@target")
        return cls(kind, name, Target.parse(target))


def minimal(targets: set[Target]) -> set[Target]:
    """Return ``targets`` without those that another one contains: what is out of service, counted once."""
    return {one for one in targets if not any(other != one and other.contains(one) for other in targets)}
