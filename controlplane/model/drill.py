"""The kind Drill: break something on purpose, and say beforehand what must hold.

Words follow Chaos Mesh (mode, value, duration, selector) and Chaos Toolkit (hypothesis,
probe, tolerance). A duration is mandatory and recovery always happens.

A refusal is no service: a request that was shed counts as bad, in the steady state, in the recovery and
in the effective tokens. Where a drill is about the clients who must be served, it names their `tiers`.

A drill without a fault is an exercise: a playbook that nothing calls for, such as a rolling restart, is run
under traffic, and the clients must not notice.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from controlplane.model.base import Duration, Model, Name, Ratio
from controlplane.model.kind import Kind
from controlplane.model.playbook import Limits

Tiers = Annotated[
    tuple[Name, ...],
    Field(description="clients of these tiers of the Service only; without any, all of them"),
]

UNNOTICED = "15s"
"""From the begin of an exercise, within which a stretch of good service must have begun."""


class Preconditions(Model):
    """What must hold before anything is broken. The defaults refuse to add a drill to an outage."""

    no_open_incident: bool = True
    no_other_drill: bool = True
    steady_for: Duration = Field(
        15.0, description="how long the steady state must have held", validate_default=False
    )
    timeout: Duration = Field(60.0, description="how long to wait for all that", validate_default=False)


class EffectiveShareProbe(Model):
    """The share of requests that were effective, from the clients' own record."""

    name: Name
    type: Literal["effectiveShare"]
    at_least: Ratio
    window: Duration = Field(10.0, validate_default=False)
    tiers: Tiers = ()
    when: tuple[Literal["start", "continuous", "end"], ...] = ("start", "end")


class FirstTokenProbe(Model):
    """No request waits longer than this for its first token, from the clients' own record."""

    name: Name
    type: Literal["firstToken"]
    within: Duration
    tiers: Tiers = ()
    when: tuple[Literal["start", "continuous", "end"], ...] = ("continuous",)


class FailedRequestsProbe(Model):
    """No more requests than this end in an error, a time-out or a wrong answer, as the clients tell."""

    name: Name
    type: Literal["failedRequests"]
    at_most: int = Field(0, ge=0)
    when: tuple[Literal["start", "continuous", "end"], ...] = ("continuous",)


class PrometheusProbe(Model):
    """A PromQL query whose value must lie within a tolerance [low, high]."""

    name: Name
    type: Literal["prometheus"]
    query: str
    tolerance: tuple[float, float]
    when: tuple[Literal["start", "continuous", "end"], ...] = ("start", "end")


Probe = Annotated[
    EffectiveShareProbe | FirstTokenProbe | FailedRequestsProbe | PrometheusProbe, Field(discriminator="type")
]


class Hypothesis(Model):
    title: str
    probes: tuple[Probe, ...] = Field(min_length=1)


class Selector(Model):
    """Which targets may be hit; without names any of the level."""

    zones: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    replicas: tuple[str, ...] = ()


class FaultSpec(Model):
    """One fault. ``duration`` is a hard bound: the fault carries its own expiry."""

    name: Name
    kind: str = Field(description="a name from the fault catalogue, for example zone.gray")
    selector: Selector = Selector()
    mode: Literal["one", "all", "fixed", "fixedPercent"] = "one"
    value: int | None = Field(None, ge=1)
    duration: Duration = Field(gt=0, le=3600)
    start_after: Duration = Field(0.0, validate_default=False)
    parameters: dict[str, Any] = Field(default_factory=dict)
    empty_targets: Literal["fail", "skip"] = "fail"


class Exercise(Model):
    """A playbook that is run instead of breaking something. Every guard judges its start, as a person's."""

    playbook: Name
    target: str | None = Field(
        None, description="where, as service/cluster/zone/…; the service when left out"
    )
    inputs: dict[str, Any] = Field(default_factory=dict)
    within: Duration = Field(gt=0, le=3600, description="how long it may take; it is cancelled then")


class Recovery(Model):
    """What the control plane must do about it."""

    playbook: Name | None = Field(
        None, description="the playbook that is expected to fire; reported, never enough"
    )
    required: bool = Field(
        default=False,
        description="whether the drill fails unless that playbook fired: where what it does is nothing that "
        "clients see",
    )
    then: tuple[Name, ...] = Field(
        (),
        max_length=10,
        description="playbooks that bring back what was changed: the drill waits for them, and fails unless "
        "each has run to its end",
    )
    within: Duration = Field(description="from injection to mitigation, judged on the yield")
    tiers: Tiers = Field(
        (),
        description="the clients who must be served while the fault stands: none that may not be shed may be "
        "left out; without any, all",
    )
    detect_within: Duration | None = None
    restored_within: Duration = Field(
        180.0, description="from the fault's end to full service", validate_default=False
    )

    @model_validator(mode="after")
    def _required_has_a_name(self) -> Self:
        if self.required and self.playbook is None:
            msg = "`required` says that a playbook must fire: name it in `playbook`"
            raise ValueError(msg)
        return self


class StopCondition(Model):
    """End the drill at once when the effective share of the whole service falls under a floor."""

    effective_share_below: Ratio
    for_: Duration = Field(10.0, alias="for", validate_default=False)
    tiers: Tiers = ()


class DrillSpec(Model):
    purpose: str
    service: Name
    environment: Name
    preconditions: Preconditions = Preconditions()
    hypothesis: Hypothesis
    faults: tuple[FaultSpec, ...] = Field((), max_length=10)
    exercise: Exercise | None = Field(None, description="a playbook that is run, instead of `faults`")
    stop_conditions: tuple[StopCondition, ...] = ()
    recovery: Recovery = Field(
        Recovery.model_validate({"within": UNNOTICED}),
        description="may be left out of an exercise, which clients must not notice",
    )
    limits: Limits = Limits()

    @property
    def method(self) -> str:
        """What it does, in a few words: the kinds of its faults, or the playbook of its exercise."""
        if self.exercise is not None:
            return f"runs {self.exercise.playbook}"
        return ", ".join(dict.fromkeys(fault.kind for fault in self.faults))

    @model_validator(mode="after")
    def _has_one_method(self) -> Self:
        if bool(self.faults) == (self.exercise is not None):
            msg = "write either `faults` or `exercise`"
            raise ValueError(msg)
        if self.faults and "recovery" not in self.model_fields_set:
            msg = "`recovery` is missing: say what must come of the faults"
            raise ValueError(msg)
        return self


class Drill(Kind):
    KIND: ClassVar[str] = "Drill"

    kind: Literal["Drill"] = "Drill"
    spec: DrillSpec
