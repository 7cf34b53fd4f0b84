"""The kind Playbook: when to act, under which limits, in which steps, and how success is proved.

Parameters of steps are checked against the actions' declarations by
`controlplane.model.documents`; here is the shape only.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from controlplane.model.base import Duration, Mode, Model, Name, Quantity
from controlplane.model.graph import check_order
from controlplane.model.kind import Kind
from controlplane.model.triggers.catalogue import AnyTrigger
from controlplane.model.triggers.manual import ManualTrigger

TRIGGER_NAMES = frozenset({"incident", "service", "inputs", "limits", "now"})
"""What a playbook's own expressions may name."""

STEP_NAMES = TRIGGER_NAMES | {"steps", "run"}
"""What those of a step may name; of a ``forEach`` also the item, in ``outputs`` also ``outputs``."""

Variable = Annotated[str, Field(pattern=r"^[a-zA-Z][a-zA-Z0-9_]{0,62}$", description="a name in expressions")]

FailureClass = Literal["transient", "permanent"]


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
    """How often, and after which failures, a step is tried again.

    What may have happened (``ambiguous``) is never tried again blindly: the action looks first.
    """

    limit: int = Field(0, ge=0, le=20)
    on: tuple[FailureClass, ...] = Field(("transient",), min_length=1)
    backoff: Backoff = Backoff()

    @field_validator("on", mode="before")
    @classmethod
    def _never_blindly(cls, value: Any) -> Any:
        if isinstance(value, list | tuple) and "ambiguous" in value:
            msg = "what may have happened is never tried again blindly: the action looks first, by itself"
            raise ValueError(msg)
        return value


class ForEach(Model):
    """The step once for each item. The items are worked out once, when the step starts.

    ``concurrency``: how many items may be under way at once. When an item fails, ``stop``
    starts no further one, ``continue`` tries them all; the step has failed either way.
    """

    items: str | tuple[Any, ...] = Field(description="an expression that yields a list, or a list")
    as_: Variable = Field("item", alias="as", validate_default=False)
    concurrency: int = Field(1, ge=1, le=100)
    on_item_failure: Literal["stop", "continue"] = "stop"

    @field_validator("as_")
    @classmethod
    def _hides_nothing(cls, value: str) -> str:
        if value in STEP_NAMES | {"outputs"}:
            msg = f"`{value}` would hide what expressions know by that name: choose another"
            raise ValueError(msg)
        return value


class Step(Model):
    """One action. Without ``needs`` a step follows the one before it; ``needs: []`` starts at once."""

    id: Name
    name: str = Field("", description="what people read; the id when it is empty")
    uses: str
    with_: dict[str, Any] = Field(default_factory=dict, alias="with")
    if_: str | None = Field(None, alias="if", description="a condition; the step is skipped when it is false")
    for_each: ForEach | None = None
    needs: tuple[Name, ...] | None = Field(None, description="ids of the steps that must be over before")
    timeout: Duration = Field(300.0, validate_default=False)
    retry: Retry = Retry()
    undo: bool = Field(True, description="whether a failed run takes this step back, if its action can")
    outputs: dict[Variable, str] = Field(
        default_factory=dict,
        description="further outputs, each an expression over the action's own, which it knows as `outputs`",
    )
    continue_on_error: bool = Field(
        default=False, description="when it fails, the run goes on as if it had succeeded"
    )

    @field_validator("outputs")
    @classmethod
    def _can_be_named(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if hasattr(dict, name):
                msg = f"an output cannot be called `{name}`: expressions could not name it"
                raise ValueError(msg)
        return value


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
    """What is tried when a run did not help: another playbook, or telling a channel."""

    playbook: Name | None = None
    inputs: dict[str, Any] = Field(default_factory=dict)
    notify: str | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if (self.playbook is None) == (self.notify is None):
            msg = "write either `playbook` or `notify`"
            raise ValueError(msg)
        if self.inputs and self.playbook is None:
            msg = "`inputs` are a playbook's"
            raise ValueError(msg)
        return self


class OnFailure(Model):
    """What follows a run that failed, or of which nobody can tell whether it helped.

    ``escalate`` is a ladder: undo is done first, then each rung in its order, until a playbook succeeds.
    """

    undo: bool = True
    escalate: tuple[Escalation, ...] = Field((), max_length=10)


class Approval(Model):
    """A person must agree before the run starts. ``when``: only if this condition is true."""

    when: str | None = Field(None, description="a condition; without it always")
    roles: tuple[Literal["operator", "approver", "admin"], ...] = Field(("approver",), min_length=1)
    timeout: Duration = Field(300.0, validate_default=False)
    on_timeout: Literal["deny", "allow"] = "deny"


class Budget(Model):
    """At most so many runs within a time, for one service; beyond it people must look."""

    max_runs: int = Field(ge=1, le=1000)
    window: Duration
    then: Literal["notify", "refuse"] = "notify"


class Windows(Model):
    """When the playbook may start, by the policy's windows."""

    only_in: tuple[Name, ...] = Field((), description="maintenance windows; without any, at all times")
    in_freeze: Literal["wait", "refuse", "run"] = Field("wait", description="what a freeze means to it")


class PlaybookSpec(Model):
    description: str = ""
    mode: Mode | None = None
    triggers: tuple[AnyTrigger, ...] = Field((ManualTrigger(type="manual"),), min_length=1)
    when: str | None = Field(None, description="a condition; names: incident, service, inputs, limits, now")
    inputs: dict[str, Input] = Field(default_factory=dict)
    windows: Windows = Windows()
    throttle: Throttle | None = None
    concurrency: Concurrency | None = None
    limits: Limits = Limits()
    approval: Approval | None = None
    steps: tuple[Step, ...] = Field(min_length=1, max_length=100)
    verify: tuple[Check, ...] = ()
    on_failure: OnFailure = OnFailure()
    budget: Budget | None = None

    @field_validator("steps")
    @classmethod
    def _steps_have_an_order(cls, value: tuple[Step, ...]) -> tuple[Step, ...]:
        check_order(value)
        return value


class Playbook(Kind):
    KIND: ClassVar[str] = "Playbook"

    kind: Literal["Playbook"] = "Playbook"
    spec: PlaybookSpec
