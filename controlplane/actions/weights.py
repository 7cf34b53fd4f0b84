"""How actions write a zone's weight: on the version they read, and never over somebody else's change.

Shared by `traffic.shift` and `traffic.restore`. It refuses to decide which weight is wanted.
"""

from __future__ import annotations

from collections.abc import Collection

from controlplane.actions.evidence import canary_of
from controlplane.kernel.errors import NotFound, VersionConflict
from controlplane.model.action import (
    ActionContext,
    Change,
    Dimension,
    Touch,
    UndoRecord,
    UndoResult,
    UndoStatus,
)
from controlplane.model.outcome import Failed, FailureKind
from controlplane.model.target import Target
from controlplane.model.topology import Weights
from controlplane.platforms.port import Platform

FIELD = "weight"
PERMISSIONS = (
    "get gateway.networking.k8s.io/httproutes",
    "patch gateway.networking.k8s.io/httproutes",
)
_TRIES = 5  # writes of other zones that may come between a read and a write


def zone_target(zone: str, context: ActionContext) -> Target:
    """Return the target of one of the service's zones."""
    service = context.service.target
    return Target(service.service, service.cluster, zone)


def weight_of(zone: str, weights: Weights) -> int:
    """Return the zone's weight, or raise `NotFound` that lists the zones."""
    try:
        return weights.weights[zone]
    except KeyError:
        msg = f"no zone `{zone}`"
        raise NotFound(msg, hint=f"zones: {', '.join(sorted(weights.weights))}") from None


def read(context: ActionContext) -> Weights:
    """Return the service's weights as they stand."""
    return context.port(Platform).weights(context.service.name)


def write(
    context: ActionContext, zone: str, weight: int, *, ours: Collection[int], part: str
) -> Weights | Failed:
    """Set ``zone`` to ``weight`` if what stands there is among ``ours``, or is ``weight`` already.

    Another value is somebody else's: it stays, and a permanent failure says what was found.
    When another zone's weight changes in between, the write is made on what is there then.
    ``part`` tells the writes of a step apart; the key names the weight as well, so that no write is
    ever answered for another one.
    """
    target = zone_target(zone, context)
    key = f"{part}.{weight}"
    for _ in range(_TRIES):
        weights = read(context)
        present = weight_of(zone, weights)
        if present not in {*ours, weight}:
            return _foreign(zone, present, ours, weights)
        try:
            with context.effect(Change(target, FIELD, present, weight), key) as tag:
                return context.port(Platform).set_weights(
                    context.service.name, {zone: weight}, expected_version=weights.version, by=tag
                )
        except VersionConflict:
            continue
    msg = f"the weights changed {_TRIES} times while that of {zone} was to be written"
    raise VersionConflict(msg)


def undo_touches(record: UndoRecord, context: ActionContext) -> list[Touch]:
    """List what putting the weight back would do to the zone: a lower one takes it out as a shift does."""
    present, before = weight_of(str(record.target.zone), read(context)), int(record.before)
    if present == before:
        return [Touch(record.target, Dimension.NOTHING)]
    return [Touch(record.target, Dimension.TRAFFIC, returns=before > present)]


def restore(record: UndoRecord, context: ActionContext) -> UndoResult:
    """Put back the weight that stood before a step, if what stands there is still the step's own.

    More weight is given only while the zone's canary is good: an undo sends nobody into harm.
    """
    zone, before = str(record.target.zone), int(record.before)
    present = weight_of(zone, read(context))
    if present == before:
        if record.applied is None:
            # Its worker may be stopped right before the write. The same weight again is no effect,
            # but it shows the platform our fence, so that the write comes too late.
            write(context, zone, before, ours={before}, part="undo")
        return UndoResult(UndoStatus.UNDONE, f"{zone} is at {before} already")
    if not record.is_ours(present):
        return UndoResult(UndoStatus.FOREIGN, f"somebody else has set {zone} to {present}: left alone")
    if before > present:
        canary = canary_of(record.target, context)
        if canary.good is not True:
            return UndoResult(UndoStatus.WITHHELD, f"{zone} stays at {present}: {canary.why}")
    written = write(context, zone, before, ours={present}, part="undo")
    if isinstance(written, Failed):
        return UndoResult(UndoStatus.FOREIGN, written.message)
    return UndoResult(UndoStatus.UNDONE, f"{zone} is back at {before}")


def _foreign(zone: str, present: int, ours: Collection[int], weights: Weights) -> Failed:
    expected = " or ".join(str(weight) for weight in sorted(set(ours)))
    message = (
        f"{zone} is at weight {present}, not at {expected}: somebody else has set it, and it is left alone"
    )
    return Failed(FailureKind.PERMANENT, message, {"found": present, "version": weights.version})


def check_ours(zone: str, weight: int, weights: Weights) -> Failed | None:
    """Return the permanent failure that says what was found, if ``zone`` is not at ``weight`` any more."""
    present = weight_of(zone, weights)
    return None if present == weight else _foreign(zone, present, {weight}, weights)
