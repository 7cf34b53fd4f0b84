"""The one seam to whatever runs the engines: read the fleet, steer its traffic, and work on its parts.

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

from collections.abc import Mapping, Sequence
from typing import Protocol

from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.model.target import Target
from controlplane.model.topology import Admission, Scale, Topology, Weights, WriteRecord, WriteTag

CALL_TIMEOUT = 5.0
"""Seconds within which every call ends: under the run's lease of 15 s, with room for a second look."""

MAX_LIMIT = 1_000_000
"""Requests/s: more than any gateway's token bucket is asked for."""

WEIGHTS = "weights"
RESTART = "restart"
ROTATION = "rotation"
SCHEDULABLE = "schedulable"
REPLACE = "replace"
RECYCLE = "recycle"
LIMIT = "limit"
SHED = "shed"
SCALE = "scale"
"""What the write log calls the operations."""

FENCE = "fence"
"""What a script of failures calls `Platform.show_fence`: it is in no log."""


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

    def admission(self, service: str) -> Admission:
        """Return what the gateway lets in, and the version to expect when writing."""
        ...

    def set_limit(
        self, target: Target, limit: int | None, *, expected_version: str | None, by: WriteTag | None
    ) -> Admission:
        """Let at most ``limit`` requests/s into a zone (None: any number), and return all; as weights.

        What is over the limit is answered 429 by the gateway, with ``Retry-After``.
        """
        ...

    def set_shed(
        self, service: str, tiers: Sequence[str], *, expected_version: str | None, by: WriteTag | None
    ) -> Admission:
        """Refuse the clients of exactly these tiers with 429 and ``Retry-After``; else as weights."""
        ...

    def restart_replica(
        self, target: Target, *, expected_uid: str | None, reason: str, by: WriteTag | None
    ) -> str:
        """Replace the incarnation in a replica's slot and return the new uid; it is loading, not ready.

        `VersionConflict` when the present uid is not ``expected_uid``: somebody has restarted it.
        """
        ...

    def set_rotation(
        self,
        target: Target,
        in_rotation: bool,  # noqa: FBT001 - the replica is or is not
        *,
        expected_version: str | None,
        by: WriteTag | None,
    ) -> str:
        """Take a replica out of the load balancing, or give it back, and return its new version.

        Returns only when no new request reaches it (or may again); requests under way run on. The
        slot stays out through restarts, until it is given back. As with weights, a write of what is
        there already is no effect.
        """
        ...

    def set_schedulable(
        self,
        target: Target,
        schedulable: bool,  # noqa: FBT001 - the node is or is not
        *,
        expected_version: str | None,
        by: WriteTag | None,
    ) -> str:
        """Cordon a node (nothing new is placed on it; what runs there runs on), or end that; as rotation."""
        ...

    def replace_node(
        self, target: Target, *, expected_uid: str | None, reason: str, by: WriteTag | None
    ) -> str:
        """Replace the machine behind a node's name and return the new uid; all its replicas load anew.

        What runs there is lost. It works on a node that does not answer: that is what it is for.
        `VersionConflict` when the present uid is not ``expected_uid``.
        """
        ...

    def recycle_gpu(
        self, target: Target, *, expected_uid: str | None, reason: str, by: WriteTag | None
    ) -> str:
        """Reset the GPUs of a replica with its engine down, and return the replica's new uid; as a restart.

        Errors that a reset clears are gone afterwards; those of a broken card are not.
        """
        ...

    def show_fence(self, service: str, *, by: WriteTag) -> None:
        """Refuse from now on what an earlier owner of the run has still to write. It is no effect itself.

        For a run whose owner was lost in the middle of a call and may only be stopped: what was on its
        way before this call is done before it returns, what comes later is `Fenced`.
        """
        ...

    def scale(self, target: Target) -> Scale:
        """Return how many replicas a zone shall have and has, and the version to expect when writing."""
        ...

    def set_scale(
        self, target: Target, replicas: int, *, expected_version: str | None, by: WriteTag | None
    ) -> Scale:
        """Let a zone have so many replicas, 1 to what it has room for, and return it as it stands then.

        It does not wait: a new replica loads, and gets requests when it is ready; of those that are too many
        the newest go, get no new request from then on, and end when theirs have, or after a grace. As with
        weights, a write of what is there already is no effect.
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


def check_node(target: Target) -> str:
    """Return the name of the node that ``target`` is, or raise `InvalidInput`."""
    if target.node is None or target.level != "node":
        msg = f"{target} is not a node"
        raise InvalidInput(msg, hint="write service/cluster/zone/node")
    return target.node


def check_limit(target: Target, limit: int | None) -> str:
    """Return the name of the zone that ``target`` is, or raise what every platform raises for a bad limit."""
    zone = check_zone(target)
    if limit is not None and not 1 <= limit <= MAX_LIMIT:
        msg = f"{limit} requests/s is not between 1 and {MAX_LIMIT}"
        raise InvalidInput(msg, hint="a weight of 0 takes all requests away")
    return zone


def check_tiers(tiers: Sequence[str]) -> list[str]:
    """Return the tiers sorted, or raise what every platform raises for a bad name."""
    for tier in tiers:
        if not tier.isascii() or not tier.replace("-", "").isalnum() or len(tier) > 63:
            msg = f"{tier!r} is not a tier's name"
            raise InvalidInput(msg)
    return sorted(set(tiers))


def check_zone(target: Target) -> str:
    """Return the name of the zone that ``target`` is, or raise `InvalidInput`."""
    if target.zone is None or target.level != "zone":
        msg = f"{target} is not a zone"
        raise InvalidInput(msg, hint="write service/cluster/zone")
    return target.zone


def check_scale(target: Target, replicas: int, most: int) -> None:
    """Raise what every platform raises for a number of replicas that a zone cannot have."""
    if not 1 <= replicas <= most:
        msg = f"{replicas} replicas of {target.name} is not between 1 and {most}"
        raise InvalidInput(msg, hint="there is no room for more" if replicas > most else None)
