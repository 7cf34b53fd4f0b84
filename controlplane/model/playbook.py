"""The kind Playbook: when to act, under which limits, in which steps, and how success is proved.

Parameters of steps are checked against the actions' declarations by
`controlplane.model.documents`; here is the shape only.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from controlplane.model.base import Duration, Level, Mode, Model, Name, Quantity
from controlplane.model.kind import Kind


class SloTrigger(Model):
    """Fires when an SLO's incident starts firing at one of the tiers."""

    type: Literal["slo"]
    slo: Name
    tiers: tuple[str, ...] = Field(("fast", "page"), min_length=1)
    by: Level = "zone"


class ThresholdTrigger(Model):
    """Fires when an indicator is beyond a bound for long enough."""

    type: Literal["threshold"]
    indicator: Name
    above: float | None = None
    below: float | None = None
    for_: Duration = Field(0.0, alias="for", validate_default=False)
    by: Level = "replica"

    @model_validator(mode="after")
    def _has_one_bound(self) -> Self:
        if (self.above is None) == (self.below is None):
            msg = "write either `above` or `below`"
            raise ValueError(msg)
        return self


class IncidentTrigger(Model):
    """Fires on an incident's state; with ``targetHealthyFor`` once the canary has been good that long."""

    type: Literal["incident"]
    state: Literal["firing", "mitigated", "resolved"]
    target_healthy_for: Duration | None = None
    by: Level = "zone"


class ManualTrigger(Model):
    """Started by a person or by another playbook only."""

    type: Literal["manual"]


Trigger = Annotated[
    SloTrigger | ThresholdTrigger | IncidentTrigger | ManualTrigger, Field(discriminator="type")
]


class Input(Model):
    """A value that whoever starts the playbook may set."""

    type: Literal["string", "number", "boolean", "duration", "quantity"] = "string"
    default: Any = None
    description: str = ""


class Throttle(Model):
    """At most one run per group within a time."""

    once_within: Duration
    group_by: tuple[Literal["service", "zone", "node", "replica", "playbook"], ...] = ("service", "zone")


class Concurrency(Model):
    """Runs of one group do not overlap."""

    group: str
    on_conflict: Literal["queue", "skip", "replace"] = "queue"


class Limits(Model):
    """How much may be out of service at once, through anything; the strictest of all limits holds."""

    max_zones: Quantity | None = None
    max_nodes: Quantity | None = None
    max_replicas: Quantity | None = None
    min_healthy: Quantity | None = Field(None, description="what must stay in service, of the replicas")


class Backoff(Model):
    duration: Duration = Field(2.0, validate_default=False)
    factor: float = Field(2, ge=1)
    max_duration: Duration = Field(30.0, validate_default=False)
    jitter: float = Field(0.2, ge=0, le=1)


class Retry(Model):
    limit: int = Field(0, ge=0, le=20)
    backoff: Backoff = Backoff()


class Step(Model):
    """One action. Without ``needs`` a step follows the one before it."""

    id: Name
    uses: str
    with_: dict[str, Any] = Field(default_factory=dict, alias="with")
    if_: str | None = Field(None, alias="if", description="a condition; the step is skipped when it is false")
    timeout: Duration = Field(300.0, validate_default=False)
    retry: Retry = Retry()
    undo: bool = Field(True, description="whether a failed run takes this step back, if its action can")
    continue_on_error: bool = False


class SignalCheck(Model):
    """The indicator that fired is within its objective again, on samples later than the last effect."""

    signal: Literal["trigger"]
    within: Duration
    for_: Duration = Field(0.0, alias="for", validate_default=False)


class QueryCheck(Model):
    """A PromQL query, judged ``count`` times; in the terms of Argo's analysis."""

    query: str
    success_condition: str = Field(description="an expression over `result`, the query's value")
    count: int = Field(1, ge=1, le=100)
    interval: Duration = Field(5.0, validate_default=False)
    failure_limit: int = Field(0, ge=0)
    no_data: Literal["inconclusive", "fail"] = "inconclusive"


def _check_kind(value: Any) -> str:
    keys = value if isinstance(value, dict) else value.model_fields_set
    return "queryCheck" if "query" in keys else "signalCheck"


Check = Annotated[
    Annotated[SignalCheck, Tag("signalCheck")] | Annotated[QueryCheck, Tag("queryCheck")],
    Discriminator(_check_kind),
]


class Escalation(Model):
    notify: str | None = None


class OnFailure(Model):
    undo: bool = True
    escalate: tuple[Escalation, ...] = ()


class PlaybookSpec(Model):
    description: str = ""
    mode: Mode | None = None
    triggers: tuple[Trigger, ...] = Field((ManualTrigger(type="manual"),), min_length=1)
    when: str | None = Field(None, description="a condition; names: incident, service, inputs, limits, now")
    inputs: dict[str, Input] = Field(default_factory=dict)
    throttle: Throttle | None = None
    concurrency: Concurrency | None = None
    limits: Limits = Limits()
    steps: tuple[Step, ...] = Field(min_length=1, max_length=100)
    verify: tuple[Check, ...] = ()
    on_failure: OnFailure = OnFailure()

    @model_validator(mode="after")
    def _step_ids_are_unique(self) -> Self:
        seen: set[str] = set()
        for step in self.steps:
            if step.id in seen:
                msg = f"two steps are called `{step.id}`"
                raise ValueError(msg)
            seen.add(step.id)
        return self


class Playbook(Kind):
    KIND: ClassVar[str] = "Playbook"

    kind: Literal["Playbook"] = "Playbook"
    spec: PlaybookSpec
