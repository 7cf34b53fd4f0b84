"""The records of the loop: runs with their steps and journal, incidents, decisions, faults, halts, events.

These are what repositories return and the API shows. They are read; changing one means
asking the store. Times are aware UTC datetimes.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from pydantic import ConfigDict, Field

from controlplane.model.action import Dimension, UndoStatus
from controlplane.model.base import Model
from controlplane.model.states import FaultState, IncidentState, RunState, StepState

RunKind = Literal["playbook", "drill"]
StopRequest = Literal["cancel", "supersede"]


class Record(Model):
    """Base of records: frozen, and buildable from a row."""

    model_config = ConfigDict(**{**Model.model_config, "from_attributes": True, "extra": "ignore"})


class Revision(Record):
    """An immutable loaded document: what a run pins."""

    sha256: str
    kind: str
    name: str
    body: dict[str, Any]
    source: str = ""
    loaded_at: datetime


class Run(Record):
    """One execution of a playbook or a drill.

    ``pins`` maps kind (``Playbook``, ``Service``, ``SLO/<name>``, ``Policy``, ``Drill``) to the
    sha256 of the revision that this run executes. ``signal`` is the trigger's signal (text)
    and ``scope`` the names its expressions were given at the start. ``waiting`` says what it
    waits for now, ``stop`` that somebody wants it to end, ``effect_at`` when it last changed
    something outside. ``paused`` says who keeps it from starting its next step, and why.
    ``retry_of`` and ``undo_of`` name the run that this one does again, or takes back, ``cause``
    the one whose failure started it.
    """

    id: str
    kind: RunKind
    name: str
    service: str
    target: str | None = None
    signal: str | None = None
    incident: str | None = None
    trigger: str = "manual"
    started_by: str = "controller"
    state: RunState
    reason: str = ""
    waiting: str = ""
    stop: StopRequest | None = None
    stop_reason: str = ""
    paused: str | None = None
    retry_of: str | None = None
    undo_of: str | None = None
    cause: str | None = None
    inputs: dict[str, Any] = Field(default_factory=dict)
    scope: dict[str, Any] = Field(default_factory=dict)
    pins: dict[str, str] = Field(default_factory=dict)
    group: str | None = None
    fence: int = 0
    lease_owner: str | None = None
    lease_until: datetime | None = None
    due_at: datetime | None = None
    effect_at: datetime | None = None
    created_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    result: dict[str, Any] = Field(default_factory=dict)

    @property
    def never_began(self) -> bool:
        """Tell whether it gave way before it could begin: it has done nothing, and answered nothing."""
        return self.state is RunState.SUPERSEDED and self.started_at is None


class StepRecord(Record):
    """One step of a run, or one item of a ``forEach``: then ``id`` is like ``scale[2]``."""

    run: str
    id: str
    position: int
    item_index: int | None = None
    item: Any = None
    """As it was worked out when the step started."""
    uses: str
    state: StepState
    attempt: int = 0
    parameters: dict[str, Any] = Field(default_factory=dict)
    """As rendered when the step first started; retries and restarts use the same."""
    resume_state: dict[str, Any] = Field(default_factory=dict)
    outputs: dict[str, Any] = Field(default_factory=dict)
    error: str = ""
    due_at: datetime | None = None
    blocked_at: datetime | None = None
    """Since when a guard or a halt keeps it from starting."""
    started_at: datetime | None = None
    ended_at: datetime | None = None


class AttemptRecord(Record):
    """One attempt at a step. ``key`` is what the platform knows the step's effects by.

    ``interrupted``: the worker was gone in the middle of it; ``calls`` counts an attempt that
    said `Again` each time it was called, ``effects`` those that the latest call began.
    """

    run: str
    step: str
    attempt: int
    owner: str
    fence: int
    key: str
    outcome: Literal["running", "done", "again", "failed", "interrupted"]
    message: str = ""
    calls: int = 1
    effects: int = 0
    started_at: datetime
    ended_at: datetime | None = None


class JournalLine(Record):
    """One line of a run's journal; ``id`` orders them. The journal explains a run without other sources."""

    id: int
    run: str
    step: str | None = None
    at: datetime
    event: str
    message: str
    data: dict[str, Any] = Field(default_factory=dict)


class UndoView(Record):
    """An undo record as it is shown; see `controlplane.model.action.UndoRecord`."""

    run: str
    step: str
    target: str
    field: str
    before: Any = None
    intended: Any = None
    applied: Any = None
    status: UndoStatus
    detail: str = ""
    at: datetime


class Incident(Record):
    """Something is wrong with a target. One open one per signal; children fold into wider ones."""

    id: str
    signal: str
    service: str
    target: str
    state: IncidentState
    severity: Literal["page", "ticket"] = "page"
    tier: str = ""
    title: str
    parent: str | None = None
    opened_at: datetime
    fired_at: datetime | None = None
    mitigated_at: datetime | None = None
    resolved_at: datetime | None = None
    changed_at: datetime
    calm_since: datetime | None = Field(
        None, description="since when its signal has not been bad; null while it is, and for an event"
    )
    value: float | None = None
    objective: float | None = None
    detail: str = ""


class IncidentLine(Record):
    """One move of an incident, and why; ``id`` orders them."""

    id: int
    incident: str
    at: datetime
    state: IncidentState
    message: str = ""


class Verdict(StrEnum):
    ALLOW = "allow"
    REFUSE = "refuse"
    WAIT = "wait"
    """Not now: queue, and judge again when what stands in the way is gone."""


class GuardVerdict(Record):
    """What one guard said, and the values it said it on."""

    guard: str
    verdict: Verdict
    message: str
    values: dict[str, Any] = Field(default_factory=dict)


class Decision(Record):
    """One decision about one trigger, also one not to act. ``outcome`` is what came of it."""

    id: str
    at: datetime
    last_at: datetime
    count: int = 1
    playbook: str
    trigger: str
    signal: str | None = None
    incident: str | None = None
    target: str
    outcome: Literal["run", "queued", "refused", "observed", "notMatched"]
    run: str | None = None
    guards: tuple[GuardVerdict, ...] = ()
    values: dict[str, Any] = Field(default_factory=dict)


class Schedule(Record):
    """How far a timed trigger of a playbook has come at one target.

    ``decided``: the latest due time that was decided on, or when the trigger was first seen;
    ``run``: the last one that it started.
    """

    playbook: str
    trigger: str
    target: str
    service: str
    decided: datetime
    run: str | None = None


class Alert(Record):
    """An alert that Alertmanager sent. A fingerprint stands for labels; with its start it is one alert.

    ``suppressed``: it stands no more by Alertmanager's list, though no message said its end.
    ``seen_at``: when a message last said that it stands.
    """

    fingerprint: str
    starts_at: datetime
    status: Literal["firing", "resolved", "suppressed"]
    ends_at: datetime | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    receiver: str = ""
    received_at: datetime
    seen_at: datetime
    detail: str = ""


class OutOfService(Record):
    """One target that a run or a drill's fault has taken out; outlives its run until seen back."""

    target: str
    dimension: Dimension
    holder: str
    since: datetime
    reason: str = ""


class FaultRecord(Record):
    """One fault on one set of targets: the ledger that every reverting party reads.

    ``undo`` holds all that taking it back needs, written before the injection.
    """

    id: str
    kind: str
    drill: str
    run: str | None = None
    service: str
    targets: tuple[str, ...]
    state: FaultState
    parameters: dict[str, Any] = Field(default_factory=dict)
    undo: dict[str, Any] = Field(default_factory=dict)
    expires_at: datetime
    created_at: datetime
    injected_at: datetime | None = None
    verified_at: datetime | None = None
    cleared_at: datetime | None = None
    detail: str = ""


class Halt(Record):
    """A stop of automation in a scope, with a reason and an end. Empty scope fields mean everything."""

    id: str
    service: str | None = None
    zone: str | None = None
    target: str | None = None
    reason: str
    by: str
    created_at: datetime
    expires_at: datetime | None = None
    lifted_at: datetime | None = None


class Freeze(Record):
    """A stop of changes that are no remedies: drills, and playbooks that do not say otherwise.

    It ends at its time, when it is lifted, or with the ``incident`` that it was raised for.
    """

    id: str
    service: str
    reason: str
    by: str
    incident: str | None = None
    created_at: datetime
    expires_at: datetime
    lifted_at: datetime | None = None


class Event(Record):
    """Something changed: thin, so that readers fetch what they show. ``id`` is the stream's id."""

    id: int
    at: datetime
    type: str
    ref: str
