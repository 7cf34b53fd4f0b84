"""The kind Drill: break something on purpose, and say beforehand what must hold.

Words follow Chaos Mesh (mode, value, duration, selector) and Chaos Toolkit (hypothesis,
probe, tolerance). A duration is mandatory and recovery always happens.

A refusal is no service: a request that was shed counts as bad, in the steady state, in the recovery and
in the effective tokens. Where a drill is about the clients who must be served, it names their `tiers`.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from controlplane.model.base import Duration, Model, Name, Ratio
from controlplane.model.kind import Kind
from controlplane.model.playbook import Limits

Tiers = Annotated[
    tuple[Name, ...],
    Field(description="clients of these tiers of the Service only; without any, all of them"),
]


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


class PrometheusProbe(Model):
    """A PromQL query whose value must lie within a tolerance [low, high]."""

    name: Name
    type: Literal["prometheus"]
    query: str
    tolerance: tuple[float, float]
    when: tuple[Literal["start", "continuous", "end"], ...] = ("start", "end")


Probe = Annotated[EffectiveShareProbe | FirstTokenProbe | PrometheusProbe, Field(discriminator="type")]


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


class Recovery(Model):
    """What the control plane must do about it."""

    playbook: Name | None = Field(
        None, description="the playbook that is expected to fire; reported, never enough"
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
    faults: tuple[FaultSpec, ...] = Field(min_length=1, max_length=10)
    stop_conditions: tuple[StopCondition, ...] = ()
    recovery: Recovery
    limits: Limits = Limits()


class Drill(Kind):
    KIND: ClassVar[str] = "Drill"

    kind: Literal["Drill"] = "Drill"
    spec: DrillSpec
