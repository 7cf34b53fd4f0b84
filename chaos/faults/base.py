"""The contract of a fault: what it takes, how it is put in force, seen, taken back, and seen gone.

Each method does one thing and returns; nothing waits. `verify` and `verify_clear` are asked again
until they say yes: "injected" and "gone" are seen from outside, never assumed. `arm` reads only,
and what it returns is stored before `inject` is called: it is all that `undo` may rely on. `inject`
and `undo` may be called any number of times, by several parties at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import ValidationError

from chaos.drivers.port import Capability, Driver, ReplicaStatus
from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.kernel.registry import Registry
from controlplane.model.action import Dimension
from controlplane.model.base import Level, Model
from controlplane.model.target import Target

P = TypeVar("P", bound=Model)


@dataclass(frozen=True, slots=True)
class Placed(Generic[P]):
    """One fault on its targets, as it stands in the ledger."""

    id: str
    targets: tuple[Target, ...]
    parameters: P
    expires_at: datetime
    undo: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look from outside showed: whether it is as wanted, and in one sentence why (not)."""

    yes: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Armed:
    """What arming found out. ``undo``: all that taking back and looking need (JSON values).

    How the target shows in its clients' record: ``zones`` and ``replicas`` by name, whatever runs
    there, ``uids`` by incarnation, where a restart is a cure.
    """

    undo: dict[str, Any]
    zones: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()
    uids: tuple[str, ...] = ()


class Fault(ABC, Generic[P]):
    """One way to break something. Stateless; the class docstring is its page in the catalogue."""

    name: ClassVar[str]
    level: ClassVar[Level]
    """What it hits: targets of this level are chosen."""
    parameters: ClassVar[type[Model]]
    needs: ClassVar[frozenset[Capability]]
    dimension: ClassVar[Dimension] = Dimension.CAPACITY
    """What its targets lose; those of a fault that takes nothing out of service count for no budget."""

    @abstractmethod
    def arm(self, fault: Placed[P], driver: Driver) -> Armed:
        """Look at the targets and return what taking the fault back will need. Changes nothing."""

    @abstractmethod
    def inject(self, fault: Placed[P], driver: Driver) -> None:
        """Put it in force. Raises `Unavailable` when a target does not answer."""

    @abstractmethod
    def verify(self, fault: Placed[P], driver: Driver) -> Seen:
        """Look whether it has its effect."""

    @abstractmethod
    def undo(self, fault: Placed[P], driver: Driver) -> None:
        """Take back what carries our id, and nothing else."""

    @abstractmethod
    def verify_clear(self, fault: Placed[P], driver: Driver) -> Seen:
        """Look whether the effect is gone."""


FaultRegistry = Registry[Fault[Any]]


def read_parameters(fault: Fault[Any], given: Mapping[str, Any]) -> Model:
    """Validate a fault's parameters; raises `InvalidInput` that names each mistake."""
    try:
        return fault.parameters.model_validate(dict(given))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()
        )
        valid = ", ".join(info.alias or name for name, info in fault.parameters.model_fields.items())
        msg = f"parameters of `{fault.name}`: {problems}"
        raise InvalidInput(msg, hint=f"valid: {valid}" if valid else "it takes none") from error


def nodes_of(targets: Sequence[Target], driver: Driver) -> list[str]:
    """List the nodes that are, hold, or lie in any of ``targets``."""
    fleet = driver.targets()
    return sorted(
        one.name for one in fleet if one.level == "node" and any(target.overlaps(one) for target in targets)
    )


def replicas_of(targets: Sequence[Target], driver: Driver) -> list[Target]:
    """List the replicas that lie in any of ``targets``."""
    fleet = driver.targets()
    return [
        one for one in fleet if one.level == "replica" and any(target.contains(one) for target in targets)
    ]


def incarnations_of(targets: Sequence[Target], driver: Driver) -> tuple[str, ...]:
    """List the uids of the replicas that now run in ``targets``."""
    replicas = [status_of(replica, driver) for replica in replicas_of(targets, driver)]
    return tuple(sorted(replica.uid for replica in replicas))


def status_of(replica: Target, driver: Driver) -> ReplicaStatus:
    """Return what its node says of a replica; raises `NotFound`, `Unavailable`."""
    found = driver.status(str(replica.node)).replica(replica.name)
    if found is None:
        raise NotFound(f"{replica.node} has no replica `{replica.name}`")
    return found
