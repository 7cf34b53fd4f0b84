"""The kind PlaybookTest: what is given (an event, a fleet, results by script) and what must come of it.

It stands beside its playbook as ``NAME.test.yaml``, and holds any number of cases. What is not
given has a default that lets a good playbook succeed; what is not expected is not compared,
but for the steps: all of a run's are named, so that none comes or goes unnoticed.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, computed_field, model_validator

from controlplane.model.action import Dimension
from controlplane.model.base import Duration, Mode, Model, Name
from controlplane.model.identity import Role
from controlplane.model.kind import Kind
from controlplane.model.outcome import FailureKind
from controlplane.model.playbook import Limits
from controlplane.model.records import Verdict
from controlplane.model.service import Prompt, Tier
from controlplane.model.states import IncidentState, RunState, StepState
from controlplane.model.windows import Window

Health = Literal["good", "bad", "unknown", "cured"]
"""What is measured. ``cured``: bad until the run has changed something, good on samples after that."""

DecisionOutcome = Literal["run", "queued", "refused", "observed", "notMatched", "notCalled"]


class Turn(Model):
    """From when on something is so."""

    after: Duration = Field(description="time since the event")
    is_: Health = Field(alias="is")


def _turns(value: Any) -> Any:
    return [{"after": 0, "is": value}] if isinstance(value, str) else value


Course = Annotated[
    tuple[Turn, ...],
    Field(min_length=1),
    BeforeValidator(_turns, json_schema_input_type=Health | list[Turn]),
]
"""What is measured over the time of a case: one word, or turns by the time since the event."""


class Event(Model):
    """What happens: an incident on a target; without a signal somebody starts the playbook by hand."""

    target: str = Field(description="a part of the fleet: service/cluster/zone/node/replica")
    signal: str | None = Field(
        None,
        pattern=r"^[a-zA-Z]+:\S+$",
        description="what was measured as bad, as kind:name, for example `slo:chat-success`",
    )
    tier: str = Field("fast", description="the SLO's tier that fires")
    state: IncidentState = IncidentState.FIRING
    value: float | None = None
    objective: float | None = None
    inputs: dict[str, Any] = Field(default_factory=dict, description="only for a start by hand")

    @model_validator(mode="after")
    def _inputs_come_from_people(self) -> Self:
        if self.inputs and self.signal is not None:
            msg = "`inputs` are for a start by hand: leave `signal` out"
            raise ValueError(msg)
        return self


class Held(Model):
    """A target that somebody else has taken out of service already."""

    target: str
    by: str = "another-run"
    dimension: Dimension | None = Field(
        None, description="what it lost: traffic, if left out, of a zone, capacity of what is narrower"
    )


class FleetShape(Model):
    """The fleet before the event. Zones are those of the Service, if one is beside the playbook."""

    service: Name = "chat"
    zones: tuple[Name, ...] = Field(
        (), description="names of the zones; left out: those of the Service, or zone-a, zone-b, zone-c"
    )
    nodes_per_zone: int = Field(2, ge=1, le=20)
    replicas_per_node: int = Field(2, ge=1, le=20)
    standby_per_node: int = Field(
        0, ge=0, le=20, description="replicas that each node has room for beside them"
    )
    standby_up: bool = Field(default=False, description="whether they are up")
    load_time: Duration = Field(4.0, description="how long a restarted replica loads", validate_default=False)
    slots: int | None = Field(
        8, ge=1, description="how many requests a replica serves at once; null where nobody can tell"
    )
    prompts: tuple[Prompt, ...] = Field((), description="prompts of the Service; left out: those it has")
    weights: dict[str, Annotated[int, Field(ge=0, le=100)]] = Field(
        default_factory=dict, description="by zone; 100 where left out"
    )
    down: tuple[str, ...] = Field((), description="replicas, nodes or zones that do not serve, by name")
    isolated: tuple[str, ...] = Field((), description="replicas that run out of rotation, by name")
    held: tuple[Held, ...] = Field((), description="what counts as out of service through others")
    tiers: tuple[Tier, ...] = Field((), description="tiers of clients; left out: those of the Service")
    shed: tuple[Name, ...] = Field((), description="tiers of clients that are refused")


class Frame(Model):
    """The policy's part that guards judge by; left out: that of the Policy beside the playbook."""

    mode: Mode | None = None
    limits: Limits | None = None
    protected: tuple[str, ...] | None = None
    maintenance: tuple[Window, ...] | None = None
    freeze: tuple[Window, ...] | None = None


class Earlier(Model):
    """A run from before the event, for throttles and concurrency groups."""

    playbook: Name | None = Field(None, description="left out: the playbook under test")
    target: str | None = Field(None, description="left out: the event's target")
    ago: Duration = Field(30.0, validate_default=False)
    state: RunState = RunState.SUCCEEDED
    group: str | None = Field(None, description="its concurrency group")


class OtherIncident(Model):
    """Something else that is wrong at the same time."""

    target: str
    signal: str = Field(pattern=r"^[a-zA-Z]+:\S+$")
    state: IncidentState = IncidentState.FIRING
    tier: str = "fast"


class Script(Model):
    """What one call of a step's action comes to, instead of the action itself."""

    done: dict[str, Any] | None = Field(None, description="it is finished, with these outputs")
    again: Duration | None = Field(None, description="not yet: it is called again after this time")
    failed: FailureKind | None = None
    message: str = Field("", description="why, with `again` or `failed`")
    real: bool = Field(False, description="the action itself runs, on the fleet in memory")

    @model_validator(mode="after")
    def _is_one_outcome(self) -> Self:
        given = [self.done is not None, self.again is not None, self.failed is not None, self.real]
        if sum(given) != 1:
            msg = "write one of `done`, `again`, `failed`, `real: true`"
            raise ValueError(msg)
        return self


def _calls(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


Calls = Annotated[
    tuple[Script, ...],
    Field(min_length=1),
    BeforeValidator(_calls, json_schema_input_type=Script | list[Script]),
]
"""One outcome for every call of a step, or one a call, then the last."""


class QueryAnswer(Model):
    """What the metrics answer to queries that contain a text: the values in turn, then the last one."""

    contains: str = Field(min_length=1)
    values: tuple[float | Literal["unavailable"] | None, ...] = Field(
        min_length=1, description="null: no data; `unavailable`: no answer"
    )


class Meanwhile(Model):
    """What others do while the run goes on."""

    after: Duration = Field(description="time since the event")
    weights: dict[str, int] = Field(default_factory=dict, description="a person sets weights")
    down: tuple[str, ...] = Field((), description="replicas, nodes or zones that stop serving")
    cancel: str | None = Field(None, description="a person cancels the run, with this reason")
    halt: str | None = Field(None, description="a person halts automation, with this reason")
    resume: bool = Field(False, description="every halt is lifted")


class Answer(Model):
    """What somebody says to what the run asks. One whose role or name may not decide is refused, as ever."""

    step: Name | None = Field(None, description="the step that asks; left out: whether the run may start")
    after: Duration = Field(0.0, description="time since it was asked", validate_default=False)
    approve: Role | None = Field(None, description="somebody of this role approves")
    reject: Role | None = Field(None, description="somebody of this role rejects")
    nobody: bool = Field(False, description="nobody decides, and the time for it runs out")
    by: str = Field(
        "somebody else", description="who says it; whoever starts a playbook by hand is `somebody`"
    )
    comment: str = Field("", description="what is said with it")

    @model_validator(mode="after")
    def _is_one_word(self) -> Self:
        if sum([self.approve is not None, self.reject is not None, self.nobody]) != 1:
            msg = "write one of `approve: ROLE`, `reject: ROLE`, `nobody: true`"
            raise ValueError(msg)
        return self


class StepExpectation(Model):
    """One step of the run, in the order in which steps begin. What is left out is not compared."""

    id: str
    is_: StepState = Field(StepState.SUCCEEDED, alias="is", description="how it ended")
    attempts: int | None = Field(None, ge=0)
    with_: dict[str, Any] | None = Field(
        None, alias="with", description="its parameters as rendered; those that are named"
    )
    outputs: dict[str, Any] | None = Field(None, description="those that are named")
    error: str | None = Field(None, description="a part of what it says")


class UndoExpectation(Model):
    """What became of one change that a step made."""

    step: str
    target: str
    field: str = "weight"
    is_: Literal["pending", "undone", "foreign", "withheld", "failed", "kept"] = Field(alias="is")
    detail: str | None = Field(None, description="a part of what is said about it")


class FleetExpectation(Model):
    """The fleet at the end. What is left out is not compared."""

    weights: dict[str, int] | None = None
    ready: int | None = Field(None, description="replicas that serve")
    isolated: tuple[str, ...] | None = Field(None, description="replicas out of rotation, by name")
    restarted: tuple[str, ...] | None = Field(None, description="replicas by name, in order")
    writes: int | None = Field(None, ge=0, description="effects of the run, counted at the platform")
    shed: tuple[str, ...] | None = Field(None, description="tiers of clients that are refused")
    held: tuple[str, ...] | None = Field(
        None, description="targets that still count as out of service, by whomever"
    )


class Expectation(Model):
    """What must come of it. ``steps`` are all of the run's: one that is not named fails the case."""

    decision: DecisionOutcome = "run"
    guards: dict[str, Verdict] = Field(default_factory=dict, description="verdicts of guards, by name")
    why: str | None = Field(None, description="a part of the reason, of the run's end or of no run")
    state: RunState | None = None
    steps: tuple[StepExpectation, ...] | None = None
    undo: tuple[UndoExpectation, ...] | None = Field(None, description="every change, in order of undoing")
    escalations: tuple[str, ...] | None = Field(None, description="who was told that it did not succeed")
    notified: tuple[str, ...] | None = Field(None, description="channels that steps wrote to")
    journal: tuple[str, ...] | None = Field(
        None, description="events that the journal has, in this order, others between them"
    )
    fleet: FleetExpectation | None = None

    @model_validator(mode="after")
    def _a_run_has_steps(self) -> Self:
        run_only = ("state", "steps", "undo", "journal")
        if self.decision == "run" and (self.steps is None or self.state is None):
            msg = "write `state` and `steps`, the run's end and all of its steps; or a `decision` not to run"
            raise ValueError(msg)
        given = [name for name in run_only if getattr(self, name) is not None]
        if self.decision != "run" and given:
            msg = f"without a run there is no `{given[0]}`: decision is {self.decision}"
            raise ValueError(msg)
        return self


class Given(Model):
    """What a case starts from and what the outside answers; a case overrides the file's, field by field."""

    fleet: FleetShape | None = None
    policy: Frame | None = None
    signals: dict[str, Course] = Field(
        default_factory=dict,
        description="`trigger` (cured, if left out), `clients`, or other signals as kind:name@target",
    )
    canaries: dict[str, Course] = Field(
        default_factory=dict, description="by target; good where left out, for as long as `healthyFor`"
    )
    healthy_for: Duration = Field(
        60.0, description="for how long the canaries were good before the event", validate_default=False
    )
    sources: dict[str, Literal["fresh", "stale", "lost"]] = Field(default_factory=dict)
    queries: tuple[QueryAnswer, ...] = Field((), description="the first that matches answers; else no data")
    steps: dict[str, Calls] = Field(
        default_factory=dict, description="by step: one outcome for every call, or one a call, then the last"
    )
    platform_fails: dict[str, tuple[Literal["before", "after", "lost"], ...]] = Field(
        default_factory=dict,
        description="by operation (weights, restart, topology, read): how its next calls fail",
    )
    incidents: tuple[OtherIncident, ...] = ()
    earlier: tuple[Earlier, ...] = ()
    halts: tuple[str, ...] = Field((), description="reasons of halts of everything, in force at the event")
    meanwhile: tuple[Meanwhile, ...] = ()
    answers: tuple[Answer, ...] = Field(
        (),
        description="what people say to what is asked, in this order; what none is about is approved at once",
    )
    until: Duration = Field(
        900.0,
        gt=0,
        description="when the case is looked at, if the run has not ended",
        validate_default=False,
    )

    def over(self, wider: Given) -> Given:
        """Return what the file gives, with what the case gives itself in its place."""
        mine = {name: getattr(self, name) for name in self.model_fields_set & Given.model_fields.keys()}
        return Given.model_construct(**{name: getattr(wider, name) for name in Given.model_fields} | mine)


class Case(Given):
    name: str = Field(min_length=1, max_length=200)
    event: Event
    expect: Expectation


class PlaybookTestSpec(Given):
    playbook: Name
    cases: tuple[Case, ...] = Field(min_length=1, max_length=200)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        seen: set[str] = set()
        for case in self.cases:
            if case.name in seen:
                msg = f"two cases are called `{case.name}`"
                raise ValueError(msg)
            seen.add(case.name)
        return self


class PlaybookTest(Kind):
    KIND: ClassVar[str] = "PlaybookTest"

    kind: Literal["PlaybookTest"] = "PlaybookTest"
    spec: PlaybookTestSpec


class CaseResult(Model):
    """What came of one case. ``difference``: what was expected and what came, empty when it passed.

    A line of it begins with ``-`` (expected, and did not come), ``+`` (came, and was not expected) or a space
    (both). ``why`` explains it; ``error``: the case could not be played.
    """

    file: str
    line: int
    playbook: str
    name: str
    difference: tuple[str, ...] = ()
    why: str = ""
    error: str = ""
    virtual_seconds: float = 0.0
    seconds: Annotated[float, PlainSerializer(lambda value: round(value, 4))] = 0.0

    @computed_field  # type: ignore[prop-decorator]  # pydantic says so itself
    @property
    def passed(self) -> bool:
        return not self.difference and not self.error
