"""The one seam to whatever runs the engines: read the fleet, change its weights, restart a replica.

Shaped so that Kubernetes fits: everything read carries the version it was read at
(resourceVersion), names are slots and uids incarnations, and a write says what it expects to
find. Every write carries a `WriteTag`; the platform, not the caller, refuses what is late:
a fence lower than the highest it has seen for the run is `Fenced`, and a key it has seen is
answered with its first answer and no second effect. What happened is counted in the
platform's own write log.

It refuses to decide, to retry and to wait: one call is one attempt that ends within
`CALL_TIMEOUT` seconds, shorter than a lease, so that a lost lease is noticed in time.

Errors of every call: `NotFound`, `InvalidInput`, `Unavailable` (nothing was done). Writes add
`VersionConflict`, `Fenced`, `Conflict` (a key that was used for something else) and
`Ambiguous` (may have been done: look before trying again).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.model.target import Target
from controlplane.model.topology import Topology, Weights, WriteRecord, WriteTag

CALL_TIMEOUT = 5.0
"""Seconds within which every call ends: under the run's lease of 15 s, with room for a second look."""

WEIGHTS = "weights"
RESTART = "restart"
"""What the write log calls the operations."""


class Platform(Protocol):
    """Port: the fleet of one or more services. One implementation per kind of cluster."""

    def topology(self, service: str) -> Topology:
        """Return the fleet as seen now. A node that does not answer is listed, not ready."""
        ...

    def weights(self, service: str) -> Weights:
        """Return the zones' weights and the version to expect when writing."""
        ...

    def set_weights(
        self, service: str, changes: Mapping[str, int], *, expected_version: str | None, by: WriteTag | None
    ) -> Weights:
        """Set the weights of the zones in ``changes`` (0..100), leave the others, and return all.

        Returns only when new requests follow the new weights. A write of what is there already is
        no effect: no new version, no line in the log. With ``expected_version`` None the write is
        unconditional. Weights that are all zero are `InvalidInput`: nobody would serve.
        ``by`` is None for a person's own write; runs always give it.
        """
        ...

    def restart_replica(
        self, target: Target, *, expected_uid: str | None, reason: str, by: WriteTag | None
    ) -> str:
        """Replace the incarnation in a replica's slot and return the new uid; it is loading, not ready.

        `VersionConflict` when the present uid is not ``expected_uid``: somebody has restarted it.
        """
        ...

    def writes(self, after: int = 0) -> list[WriteRecord]:
        """Return the effects whose ``seq`` is greater than ``after``, oldest first."""
        ...


def check_changes(weights: Mapping[str, int], changes: Mapping[str, int]) -> dict[str, int]:
    """Return ``weights`` with ``changes`` made, or raise what every platform raises for a bad change."""
    if not changes:
        msg = "no weight is given"
        raise InvalidInput(msg)
    for zone, weight in changes.items():
        if zone not in weights:
            msg = f"no zone `{zone}`"
            raise NotFound(msg, hint=f"zones: {', '.join(sorted(weights))}")
        if not 0 <= weight <= 100:
            msg = f"weight {weight} of {zone} is not between 0 and 100"
            raise InvalidInput(msg)
    result = {**weights, **changes}
    if not any(result.values()):
        msg = "all weights would be 0: nobody would serve"
        raise InvalidInput(msg)
    return result


def check_replica(target: Target) -> str:
    """Return the name of the replica that ``target`` is, or raise `InvalidInput`."""
    if target.replica is None or target.level != "replica":
        msg = f"{target} is not a replica"
        raise InvalidInput(msg, hint="write service/cluster/zone/node/replica")
    return target.replica
