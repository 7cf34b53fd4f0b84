"""The faults that a node carries: what is injected into whom, and when it ends by itself.

A book of records under a given clock; it applies nothing. Every fault has an expiry, so
none outlives its drill even when nobody comes back for it. A hang lives in one
incarnation: a restarted replica is free of it, also when the same fault is put again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from math import prod
from typing import Any, Self

from pydantic import AwareDatetime, Field, model_validator

from controlplane.kernel.clock import to_rfc3339
from controlplane.kernel.errors import InvalidInput
from controlplane.model.base import Model

_MAX_FACTOR = 1000.0


class FaultKind(StrEnum):
    """What can be done to an engine."""

    SLOW = "slow"
    HANG = "hang"


class FaultSpec(Model):
    """The body of ``PUT /faults/{id}``. ``replicas`` null means all of the node."""

    kind: FaultKind
    replicas: tuple[str, ...] | None = None
    factor: float | None = Field(
        default=None, gt=1.0, le=_MAX_FACTOR, description="slow: times a step's time"
    )
    expires_at: AwareDatetime

    @model_validator(mode="after")
    def _factor_belongs_to_slow(self) -> Self:
        if (self.kind is FaultKind.SLOW) != (self.factor is not None):
            raise ValueError("a slow fault needs a factor, and only a slow fault has one")
        if self.replicas is not None and not self.replicas:
            raise ValueError("replicas is empty; name at least one, or null for all")
        return self


class Fault:
    """One fault in force: its spec and the incarnations it was put on, by replica name."""

    def __init__(self, identifier: str, spec: FaultSpec, incarnations: Mapping[str, str]) -> None:
        self.id = identifier
        self.spec = spec
        self.incarnations = dict(incarnations)

    def hits(self, replica: str, uid: str) -> bool:
        """Whether the fault is in force on this incarnation of a replica."""
        bound = self.incarnations.get(replica)
        return bound is not None and (self.spec.kind is FaultKind.SLOW or bound == uid)


class FaultBook:
    """The faults of one node, by id."""

    def __init__(self) -> None:
        self._faults: dict[str, Fault] = {}

    def put(self, identifier: str, spec: FaultSpec, incarnations: Mapping[str, str], now: datetime) -> None:
        """Record a fault; again with the same id replaces it (a new expiry, say) and keeps its incarnations.

        ``incarnations`` maps every replica of the node to its present uid.

        Raises:
            InvalidInput: it names an unknown replica, or would already be over.
        """
        names = spec.replicas if spec.replicas is not None else tuple(incarnations)
        if unknown := sorted(set(names) - set(incarnations)):
            raise InvalidInput(
                f"no replica {', '.join(unknown)} on this node", hint=f"it has {', '.join(incarnations)}"
            )
        if spec.expires_at <= now:
            raise InvalidInput(f"fault {identifier} would have ended at {to_rfc3339(spec.expires_at)}")
        former = self._faults.get(identifier)
        known = former.incarnations if former is not None and former.spec.kind is spec.kind else {}
        bound = {name: known.get(name, incarnations[name]) for name in names}
        self._faults[identifier] = Fault(identifier, spec, bound)

    def delete(self, identifier: str) -> None:
        """Forget a fault; nothing when there is none."""
        self._faults.pop(identifier, None)

    def expire(self, now: datetime) -> list[str]:
        """Forget the faults whose time is over and return their ids."""
        over = [fault.id for fault in self._faults.values() if fault.spec.expires_at <= now]
        for identifier in over:
            del self._faults[identifier]
        return over

    def next_expiry(self) -> datetime | None:
        """Return when the next fault ends by itself."""
        return min((fault.spec.expires_at for fault in self._faults.values()), default=None)

    def slow_factor(self, replica: str, uid: str) -> float:
        """Return by how much the steps of an incarnation are longer; several faults multiply."""
        return prod(
            fault.spec.factor
            for fault in self._faults.values()
            if fault.spec.factor and fault.hits(replica, uid)
        )

    def hung(self, replica: str, uid: str) -> bool:
        """Whether an incarnation hangs."""
        return any(
            fault.spec.kind is FaultKind.HANG and fault.hits(replica, uid) for fault in self._faults.values()
        )

    def describe(self, incarnations: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the faults in force for ``/status``: those that hit an incarnation that still lives."""
        described = []
        for fault in self._faults.values():
            hit = [name for name, uid in incarnations.items() if fault.hits(name, uid)]
            if hit:
                factor = fault.spec.factor
                described.append(
                    {
                        "id": fault.id,
                        "kind": fault.spec.kind.value,
                        "target": hit,
                        "parameters": {} if factor is None else {"factor": factor},
                        "expiresAt": to_rfc3339(fault.spec.expires_at),
                    }
                )
        return described
