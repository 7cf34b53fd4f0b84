"""What a fault may ask of the fleet it breaks: kill, pause, slow down, hang, crash, and look from outside.

A driver does one thing at a time, waits for nothing longer than `CALL_TIMEOUT`, and keeps no
memory: everything that taking a fault back needs is in the fault's ledger. It never asks the
control plane anything.

Errors: `Unavailable` when a node does not answer (nothing was done), `NotFound` for a name that
the fleet does not have, `InvalidInput` for a fault that the target refuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol, get_args

from pydantic import ConfigDict, Field

from controlplane.model.base import Model
from controlplane.model.target import Target

CALL_TIMEOUT = 3.0
"""Seconds for one call to a node."""

Capability = Literal["kill", "pause", "slow", "hang", "crash", "xid", "surge", "blind"]
ALL_CAPABILITIES: frozenset[Capability] = frozenset(get_args(Capability))

PROMETHEUS = "prometheus"
"""The observer's process, by the name that `Driver.kill` and its like take beside those of nodes."""


class _Seen(Model):
    """What a node says may grow; what is not known here is left out."""

    model_config = ConfigDict(**{**Model.model_config, "extra": "ignore"})


class Incarnation(Model):
    """One operating-system process: a pid alone is handed out again. ``start_time`` in unix seconds."""

    pid: int
    start_time: float


class ReplicaStatus(_Seen):
    """One engine as its node sees it; ``steps`` counts since the incarnation began.

    ``restarts`` counts how often its container was started again; ``backoff``: it waits for that.
    """

    name: str
    uid: str
    port: int
    state: str
    running: int = 0
    waiting: int = 0
    steps: int = 0
    restarts: int = 0
    backoff: bool = False


class FaultStatus(_Seen):
    """One fault that a node carries."""

    id: str
    kind: str


class NodeStatus(_Seen):
    """One node's word of itself: its engines, and the faults it carries."""

    node: str
    zone: str
    replicas: tuple[ReplicaStatus, ...] = ()
    faults: tuple[FaultStatus, ...] = ()

    def replica(self, name: str) -> ReplicaStatus | None:
        return next((one for one in self.replicas if one.name == name), None)

    def carries(self, fault_id: str) -> bool:
        return any(one.id == fault_id for one in self.faults)


class NodeFault(Model):
    """What a node is told to do to its engines, and when to stop by itself.

    ``factor`` belongs to slow; ``keep_alive`` (the server outlives its engine) and ``every`` (again,
    seconds after each start) to crash, ``code`` to xid.
    """

    kind: Literal["slow", "hang", "crash", "xid"]
    replicas: tuple[str, ...] | None = None
    factor: float | None = None
    keep_alive: bool | None = None
    every: float | None = None
    code: int | None = None
    expires_at: datetime


class Surge(Model):
    """What the users are told: how many times as many come, of which tier, and until when."""

    factor: float
    tier: str | None = None
    expires_at: datetime


class SurgeStatus(_Seen):
    """One surge under way; ``sent`` counts the requests beside the plan."""

    id: str
    sent: int


class Answer(Model):
    """What one engine answered to one short question, measured by who asked; seconds."""

    ok: bool
    ttft: float | None = None
    tpot: float | None = None
    detail: str = Field(default="", description="why it is not ok")


class Driver(Protocol):
    """Port: one kind of fleet in which faults can be put in force."""

    capabilities: frozenset[Capability]

    def targets(self) -> list[Target]:
        """List the service and every zone, node and replica of it, whether it answers or not."""
        ...

    def incarnation(self, node: str) -> Incarnation | None:
        """Return the living process of a node, or of `PROMETHEUS`; None when it is dead."""
        ...

    def kill(self, node: str, incarnation: Incarnation) -> bool:
        """End exactly this process at once (SIGKILL); False when it is gone or another one stands there."""
        ...

    def pause(self, node: str, incarnation: Incarnation, until: datetime) -> bool:
        """Stop exactly this process (SIGSTOP) until ``until`` at most; False as for `kill`.

        Who is stopped keeps no time: something beside it continues it then, whatever becomes of us.
        """
        ...

    def resume(self, node: str, incarnation: Incarnation) -> bool:
        """Let exactly this process go on (SIGCONT); one that runs is left as it is; False as for `kill`."""
        ...

    def is_paused(self, node: str) -> bool:
        """Tell whether the node's process is there and stopped."""
        ...

    def respawn(self, node: str) -> None:
        """Start the node's process again as it was first started; one that lives is left alone."""
        ...

    def status(self, node: str) -> NodeStatus:
        """Return what the node says of itself."""
        ...

    def put_fault(self, node: str, fault_id: str, fault: NodeFault) -> None:
        """Put a fault in force under our id; the same again changes nothing."""
        ...

    def delete_fault(self, node: str, fault_id: str) -> None:
        """Take back the fault of this id and no other; none there is fine."""
        ...

    def is_live(self, target: Target) -> bool:
        """Tell whether the replica's own health endpoint says 200."""
        ...

    def put_surge(self, fault_id: str, surge: Surge) -> None:
        """Let more users come under our id; the same again changes nothing."""
        ...

    def delete_surge(self, fault_id: str) -> None:
        """End the surge of this id and no other; none there is fine."""
        ...

    def surge(self, fault_id: str) -> SurgeStatus | None:
        """Return how the surge of this id goes; None when there is none."""
        ...

    def is_observed(self) -> bool:
        """Tell whether Prometheus answers and is ready for queries."""
        ...

    def gpu_fields(self, target: Target) -> dict[str, float]:
        """Return what the GPU exporter says of the replica's card: DCGM's names, without ``DCGM_FI_``."""
        ...

    def ask(self, targets: Sequence[Target], *, tokens: int, timeout: float) -> list[Answer]:
        """Ask each replica, past the gateway and all at once, for ``tokens`` tokens within ``timeout`` s."""
        ...
