"""The states of runs, steps, incidents and faults, and the moves that are allowed between them.

Whatever changes a state goes through `check_move`; the diagrams in the docs are drawn
from these tables. There is no other list of states anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Self, TypeVar

from controlplane.kernel.errors import Conflict


class State(StrEnum):
    """A state of something: it knows what may follow it."""

    @property
    def followers(self) -> frozenset[Self]:
        """The states that may follow; none after a final one."""
        raise NotImplementedError


class RunState(State):
    QUEUED = "queued"
    """Waits for its turn: a concurrency group, or blast radius that another run holds."""
    RUNNING = "running"
    VERIFYING = "verifying"
    UNDOING = "undoing"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    """The steps are done and nobody can tell whether it helped. Not a success."""
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"

    @property
    def followers(self) -> frozenset[RunState]:
        return RUN_MOVES[self]


class StepState(State):
    PENDING = "pending"
    RUNNING = "running"
    WAITING = "waiting"
    """It said `Again`, or a retry is due later."""
    SUCCEEDED = "succeeded"
    SKIPPED = "skipped"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def followers(self) -> frozenset[StepState]:
        return STEP_MOVES[self]


class IncidentState(State):
    PENDING = "pending"
    """Bad, not yet for long enough."""
    FIRING = "firing"
    MITIGATED = "mitigated"
    """Clients are well while the target takes no traffic."""
    RESOLVED = "resolved"
    UNKNOWN = "unknown"
    """The observer lost sight of it: neither healthy nor bad."""

    @property
    def followers(self) -> frozenset[IncidentState]:
        return INCIDENT_MOVES[self]


class FaultState(State):
    PLANNED = "planned"
    ARMED = "armed"
    """Undo and expiry are stored."""
    INJECTING = "injecting"
    INJECTED = "injected"
    VERIFIED = "verified"
    """The effect was seen at the target."""
    RECOVERING = "recovering"
    RECOVERED = "recovered"
    VERIFIED_CLEAR = "verifiedClear"
    """Seen from outside: the effect is gone."""
    STUCK = "stuck"
    """Could not be taken back; an operator must look."""

    @property
    def followers(self) -> frozenset[FaultState]:
        return FAULT_MOVES[self]


S = TypeVar("S", bound=State)
Moves = Mapping[S, frozenset[S]]


def _moves(table: dict[S, set[S]]) -> Moves[S]:
    return {state: frozenset(targets) for state, targets in table.items()}


R, T, F = RunState, StepState, FaultState
_I = IncidentState

RUN_MOVES = _moves(
    {
        R.QUEUED: {R.RUNNING, R.CANCELLED, R.SUPERSEDED, R.FAILED},
        R.RUNNING: {R.VERIFYING, R.UNDOING, R.SUCCEEDED, R.FAILED, R.CANCELLED, R.SUPERSEDED, R.INCONCLUSIVE},
        R.VERIFYING: {R.SUCCEEDED, R.UNDOING, R.FAILED, R.INCONCLUSIVE, R.CANCELLED, R.SUPERSEDED},
        R.UNDOING: {R.FAILED, R.CANCELLED, R.INCONCLUSIVE, R.SUPERSEDED},
        R.SUCCEEDED: set(),
        R.FAILED: set(),
        R.INCONCLUSIVE: set(),
        R.CANCELLED: set(),
        R.SUPERSEDED: set(),
    }
)
STEP_MOVES = _moves(
    {
        T.PENDING: {T.RUNNING, T.SKIPPED, T.CANCELLED},
        T.RUNNING: {T.SUCCEEDED, T.FAILED, T.WAITING, T.CANCELLED, T.SKIPPED},
        T.WAITING: {T.RUNNING, T.CANCELLED, T.FAILED},
        T.SUCCEEDED: set(),
        T.SKIPPED: set(),
        T.FAILED: set(),
        T.CANCELLED: set(),
    }
)
INCIDENT_MOVES = _moves(
    {
        _I.PENDING: {_I.FIRING, _I.RESOLVED, _I.UNKNOWN},
        _I.FIRING: {_I.MITIGATED, _I.RESOLVED, _I.UNKNOWN},
        _I.MITIGATED: {_I.FIRING, _I.RESOLVED, _I.UNKNOWN},
        _I.UNKNOWN: {_I.PENDING, _I.FIRING, _I.MITIGATED, _I.RESOLVED},
        _I.RESOLVED: set(),
    }
)
FAULT_MOVES = _moves(
    {
        F.PLANNED: {F.ARMED, F.VERIFIED_CLEAR},
        F.ARMED: {F.INJECTING, F.RECOVERING},
        F.INJECTING: {F.INJECTED, F.RECOVERING},
        F.INJECTED: {F.VERIFIED, F.RECOVERING},
        F.VERIFIED: {F.RECOVERING},
        F.RECOVERING: {F.RECOVERED, F.STUCK},
        F.RECOVERED: {F.VERIFIED_CLEAR, F.RECOVERING, F.STUCK},
        F.STUCK: {F.RECOVERING},
        F.VERIFIED_CLEAR: set(),
    }
)


def is_final(state: State) -> bool:
    """Tell whether nothing can follow ``state``."""
    return not state.followers


def check_move(old: S, new: S) -> S:
    """Return ``new`` if it may follow ``old``; raise `Conflict` that says what may."""
    allowed = old.followers
    if new not in allowed:
        valid = ", ".join(sorted(allowed)) or "nothing: it is final"
        msg = f"{type(old).__name__} cannot go from {old} to {new}"
        raise Conflict(msg, hint=f"from {old}: {valid}")
    return new
