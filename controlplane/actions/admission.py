"""How actions write what the gateway lets in: on what they read, and never over somebody else's change.

Shared by `limits.set`, `limits.tune` and `load.shed`. It refuses to decide whom it would be right to refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controlplane.actions import weights
from controlplane.kernel.errors import VersionConflict
from controlplane.model.action import ActionContext, Change, UndoRecord, UndoResult, UndoStatus
from controlplane.model.outcome import Failed, FailureKind
from controlplane.model.target import Target
from controlplane.model.topology import Admission, WriteTag
from controlplane.platforms.port import Platform

PERMISSIONS = (
    "get gateway.envoyproxy.io/backendtrafficpolicies",
    "patch gateway.envoyproxy.io/backendtrafficpolicies",
)
_TRIES = 5  # writes of other parts that may come between a read and a write

LIMIT = "limit"
"""The field of a zone that says how many requests per second are let in; None is any number."""

Look = Callable[[Admission], Any]
"""Returns the part of the admission that is written, as a JSON value."""

Put = Callable[[Any, str, WriteTag], Admission]
"""Writes that part, on the version that was read."""


def read(context: ActionContext) -> Admission:
    """Return what the gateway lets in, as it stands."""
    return context.port(Platform).admission(context.service.name)


def write(
    context: ActionContext, change: Change, look: Look, put: Put, *, ours: list[Any], part: str
) -> Admission | Failed:
    """Make ``change`` if what stands there is among ``ours``, or is what is wanted already.

    Another value is somebody else's: it stays, and a permanent failure says what was found.
    """
    for _ in range(_TRIES):
        present = read(context)
        found = look(present)
        if found == change.intended:
            return present
        if found not in ours:
            message = f"{change.field} of {change.target.name} is {found!r}: somebody else has set it"
            return Failed(FailureKind.PERMANENT, message, {"found": found})
        try:
            with context.effect(Change(change.target, change.field, found, change.intended), part) as tag:
                return put(change.intended, present.version, tag)
        except VersionConflict:
            continue
    msg = f"the admission changed {_TRIES} times while {change.field} was to be written"
    raise VersionConflict(msg)


def restore(record: UndoRecord, context: ActionContext, look: Look, put: Put) -> UndoResult:
    """Put back what stood before a step, if what stands there is still the step's own."""
    present = read(context)
    found, name = look(present), record.target.name
    if found == record.before:
        if record.applied is None:
            # The step's own write may be under way still: ours shows the fence, and it comes too late.
            with context.effect(Change(record.target, record.field, found, found), "fence") as tag:
                put(found, present.version, tag)
        return UndoResult(UndoStatus.UNDONE, f"{record.field} of {name} is {found!r} already")
    if not record.is_ours(found):
        return UndoResult(UndoStatus.FOREIGN, f"somebody else has set {record.field} of {name}: left alone")
    change = Change(record.target, record.field, found, record.before)
    written = write(context, change, look, put, ours=[found], part="undo")
    if isinstance(written, Failed):
        return UndoResult(UndoStatus.FOREIGN, written.message)
    return UndoResult(UndoStatus.UNDONE, f"{record.field} of {name} is {record.before!r} again")


def limit_of(target: Target) -> Look:
    """Look at a zone's limit."""
    return lambda admission: admission.limits.get(str(target.zone))


def zone_of(name: str, context: ActionContext) -> Target:
    """Return a zone of the service, or raise `NotFound`."""
    weights.weight_of(name, weights.read(context))
    return weights.zone_target(name, context)


def put_limit(target: Target, context: ActionContext) -> Put:
    """Write a zone's limit."""

    def put(limit: int | None, version: str, tag: WriteTag) -> Admission:
        return context.port(Platform).set_limit(target, limit, expected_version=version, by=tag)

    return put


def shed(admission: Admission) -> list[str]:
    """Look at the tiers that are refused."""
    return list(admission.shed)
