"""The faults that a node carries: what is injected into whom, and when it ends by itself.

A book of records under a given clock; it applies nothing. Every fault has an expiry, so
none outlives its drill even when nobody comes back for it. A hang and a single crash live
in one incarnation: a restarted replica is free of them, also when the same fault is put
again. What makes an engine slow, or crash again and again, lies in the slot and stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from math import prod
from typing import Any, Self

from pydantic import AwareDatetime, Field, model_validator

from chaos.lab.node.xid import CATALOGUE
from controlplane.kernel.clock import to_rfc3339
from controlplane.kernel.errors import InvalidInput
from controlplane.model.base import Model

_MAX_FACTOR = 1000.0


class FaultKind(StrEnum):
    """What can be done to an engine, or to the card that it runs on."""

    SLOW = "slow"
    HANG = "hang"
    CRASH = "crash"
    XID = "xid"


class FaultSpec(Model):
    """The body of ``PUT /faults/{id}``. ``replicas`` null means all of the node."""

    kind: FaultKind
    replicas: tuple[str, ...] | None = None
    factor: float | None = Field(
        default=None, gt=1.0, le=_MAX_FACTOR, description="slow: times a step's time"
    )
    keep_alive: bool = Field(default=False, description="crash: the server outlives its engine")
    every: float | None = Field(
        default=None, gt=0.0, description="crash: again, seconds after each start; without it once"
    )
    code: int | None = Field(default=None, description="xid: the error's code")
    expires_at: AwareDatetime

    @property
    def is_bound(self) -> bool:
        """Whether it lives in the incarnations that it was put on, and dies with them."""
        return self.kind is FaultKind.HANG or (self.kind is FaultKind.CRASH and self.every is None)

    def parameters(self) -> dict[str, Any]:
        """Return what it was given beside its kind, its replicas and its end."""
        return self.model_dump(
            by_alias=True, exclude_defaults=True, exclude={"kind", "replicas", "expires_at"}
        )

    @model_validator(mode="after")
    def _fields_belong_to_their_kind(self) -> Self:
        if (self.kind is FaultKind.SLOW) != (self.factor is not None):
            raise ValueError("a slow fault needs a factor, and only a slow fault has one")
        if self.kind is not FaultKind.CRASH and (self.keep_alive or self.every is not None):
            raise ValueError("keepAlive and every are for a crash")
        if (self.kind is FaultKind.XID) != (self.code is not None):
            raise ValueError("an xid fault needs a code, and only an xid fault has one")
        if self.code is not None and self.code not in CATALOGUE:
            raise ValueError(f"XID {self.code} is not known here; known: {', '.join(map(str, CATALOGUE))}")
        if self.keep_alive and self.every is not None:
            raise ValueError("no keepAlive with every: a server that stays is not started again")
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
        return bound is not None and (bound == uid or not self.spec.is_bound)


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

    def crash(self, replica: str, uid: str) -> Fault | None:
        """Return the fault by which an incarnation is to end, the one that strikes soonest."""
        hits = [
            fault
            for fault in self._faults.values()
            if fault.spec.kind is FaultKind.CRASH and fault.hits(replica, uid)
        ]
        return min(hits, key=lambda fault: fault.spec.every or 0.0, default=None)

    def xids(self, replica: str) -> dict[str, int]:
        """Return the XID errors that befall a replica's card, by fault, oldest first."""
        return {
            fault.id: fault.spec.code
            for fault in self._faults.values()
            if fault.spec.code is not None and replica in fault.incarnations
        }

    def holds(self, identifier: str) -> bool:
        """Whether a fault of this id is there."""
        return identifier in self._faults

    def describe(self, incarnations: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the faults in force for ``/status``: those that hit an incarnation that still lives."""
        described = []
        for fault in self._faults.values():
            hit = [name for name, uid in incarnations.items() if fault.hits(name, uid)]
            if hit:
                described.append(
                    {
                        "id": fault.id,
                        "kind": fault.spec.kind.value,
                        "target": hit,
                        "parameters": fault.spec.parameters(),
                        "expiresAt": to_rfc3339(fault.spec.expires_at),
                    }
                )
        return described
