"""Actions that a test writes, and the shortest way to name them in a plan."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from controlplane.model.action import (
    Action,
    ActionContext,
    Change,
    Reach,
    Touch,
    UndoRecord,
    UndoResult,
    UndoStatus,
)
from controlplane.model.base import Model
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.target import Target
from controlplane.model.topology import WriteTag

ZONE_A = Target("chat", "local", "zone-a")

SHIFT: dict[str, Any] = {"id": "shift", "uses": "traffic.shift", "with": {"zone": "zone-a", "weight": 0}}
ESCALATE = {"onFailure": {"undo": True, "escalate": [{"notify": "oncall"}]}}


class ScriptParameters(Model):
    """Parameters of a scripted action: anything, to see what templates made of it."""

    value: Any = None


Behaviour = Callable[[ScriptParameters, ActionContext], Outcome]


def _echo(parameters: ScriptParameters, context: ActionContext) -> Outcome:
    return Done({"value": parameters.value})


class Scripted(Action[ScriptParameters]):
    """An action that a test writes: ``behave`` is called at each run; calls are counted."""

    name = "scripted"
    parameters = ScriptParameters
    outputs: ClassVar = {}

    def __init__(self, name: str, behave: Behaviour | None = None, **traits: Any) -> None:
        self.name = name  # type: ignore[misc]
        self.behave = behave or _echo
        self.look: Callable[[ActionContext], Outcome | None] = traits.pop("look", lambda _: None)
        self.touched: Sequence[Touch] = traits.pop("touches", ())
        self.undo: Callable[[UndoRecord], UndoResult] = traits.pop(
            "undo", lambda _: UndoResult(UndoStatus.UNDONE)
        )
        self.idempotent = traits.pop("idempotent", True)  # type: ignore[misc]
        self.reversible = traits.pop("reversible", True)  # type: ignore[misc]
        self.looks_first = traits.pop("looks_first", False)  # type: ignore[misc]
        self.reach = traits.pop("reach", Reach.OUT)  # type: ignore[misc]
        self.calls: list[tuple[int, dict[str, Any]]] = []
        self.looks = 0

    def run(self, parameters: ScriptParameters, context: ActionContext) -> Outcome:
        self.calls.append((context.attempt, dict(context.state)))
        return self.behave(parameters, context)

    def touches(self, parameters: ScriptParameters, context: ActionContext) -> list[Touch]:
        return list(self.touched)

    def observe(self, parameters: ScriptParameters, context: ActionContext) -> Outcome | None:
        self.looks += 1
        return self.look(context)

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        return self.undo(record)


def write(context: ActionContext, before: Any, after: Any, part: str = "", field: str = "knob") -> WriteTag:
    """Make an effect on zone-a that only the engine knows of."""
    with context.effect(Change(ZONE_A, field, before, after), part) as tag:
        return tag


def step(id_: str, **more: Any) -> dict[str, Any]:
    """A step whose action is called like itself."""
    return {"id": id_, "uses": id_, **more}


def raising(*errors: Exception) -> Scripted:
    """An action ``flaky`` that raises these in turn, then succeeds."""
    left = list(errors)

    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        if left:
            raise left.pop(0)
        return Done({"attempt": context.attempt})

    return Scripted("flaky", behave)


def knob(**traits: Any) -> Scripted:
    """An action ``knob`` that makes one effect."""

    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        write(context, 1, 2)
        return Done()

    return Scripted("knob", behave, **traits)


def failing() -> Scripted:
    return Scripted("fail", lambda *_: Failed(FailureKind.PERMANENT, "no use"))


def waiting(seconds: float) -> Scripted:
    """An action ``wait`` that is done when it has waited once."""

    def behave(parameters: ScriptParameters, context: ActionContext) -> Outcome:
        return Done() if context.state else Again(seconds, {"waited": True}, "not yet")

    return Scripted("wait", behave)
