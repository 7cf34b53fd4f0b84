"""Calling an action, and what its outcome makes of the step: done, again, retried, failed.

A call that a crash cut off is made again with the same keys when that is harmless: the
action is idempotent, or no effect had begun. Otherwise the action looks first whether it
happened, and when nobody can tell, the step fails as ambiguous: nothing is tried blindly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from controlplane.act.context import StepContext, context_for
from controlplane.act.engine import Turn, Work
from controlplane.act.outcomes import backoff_seconds, outcome_of
from controlplane.act.take_back import write_back
from controlplane.kernel.durations import format_duration
from controlplane.kernel.errors import FleetwardError, InvalidInput
from controlplane.kernel.templating import evaluate
from controlplane.model.action import Action, Dimension
from controlplane.model.base import Model
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.playbook import Retry, Step
from controlplane.model.records import StepRecord
from controlplane.model.states import StepState

LOOK_SECONDS = 2.0
"""How soon an action is asked again whether something happened, when it could not look.

Who waits no longer than that for anything sees it soon enough by itself.
"""

MAX_INTERRUPTIONS = 5
"""A step in whose middle this many workers were lost is not tried again: it may be what ends them."""


@dataclass(slots=True)
class CallStep:
    """Work: call an action once. ``look``: it may have happened before, so observe it first."""

    step: Step
    action: Action[Any]
    context: StepContext
    parameters: Mapping[str, Any]
    look: bool = False
    said: str = ""
    """What the call before said that it waits for."""
    outcome: Outcome | None = None
    """What came of it, if it was called ahead of its start (`controlplane.act.chain`)."""

    def starts_as(self, work: Work | None) -> bool:
        """Take over when the step started, if ``work``, which starts it, is this call; tell whether it is."""
        if not isinstance(work, CallStep) or not work.context.fresh:
            return False
        if work.context.step_id != self.context.step_id or work.parameters != self.parameters:
            return False
        self.context.started_at, self.context.scope = work.context.started_at, work.context.scope
        return True

    def perform(self) -> Outcome:
        if self.outcome is not None:
            return self.outcome
        if self.look:
            return self._observe("a worker was lost in the middle of it")
        outcome = self._run()
        if isinstance(outcome, Again) and outcome.after <= 0 and not self.context.began_effects:
            # It has only looked, and says where it goes on from: at once, and kept with its next effect.
            self.context.keep(outcome.state)
            outcome = self._run()
        if isinstance(outcome, Failed) and outcome.kind is FailureKind.AMBIGUOUS:
            return self._observe(outcome.message)
        return outcome

    def _run(self) -> Outcome:
        return outcome_of(
            lambda: self.action.run(validated(self.action, self.parameters), self.context), self.step.uses
        )

    def record(self, turn: Turn, result: Outcome) -> Work | None:
        self.context.settle(turn)
        record = turn.step(self.context.step_id)
        _remember_look(turn, record, look=self.look)
        match result:
            case Done():
                self._done(turn, record, result)
            case Again():
                self._again(turn, record, result)
            case Failed():
                _failed(turn, self.step, record, result, self.context.state)
        write_back(turn, self.step)
        return None

    def _done(self, turn: Turn, record: StepRecord, done: Done) -> None:
        outputs = self.outputs(done)
        if isinstance(outputs, Failed):
            once = self.step.model_copy(update={"retry": Retry()})
            _failed(turn, once, record, outputs, self.context.state)
        else:
            _done(turn, record, outputs)

    def _again(self, turn: Turn, record: StepRecord, again: Again) -> None:
        turn.tx.steps.end_attempt(record.run, record.id, record.attempt, "again", again.reason)
        due = min(turn.now + timedelta(seconds=max(0.0, again.after)), deadline(self.step, record))
        if turn.wanted:
            due = turn.now  # what it waits for may have come while it was looking
        reason = again.reason or f"looks again in {format_duration(again.after)}"
        turn.said[record.id] = reason
        quiet, state = again.reason == self.said, again.state
        turn.move_step(record, StepState.WAITING, reason, quiet=quiet, resume_state=state, due_at=due)

    def outputs(self, done: Done) -> dict[str, Any] | Failed:
        """Return the action's outputs with those that the playbook adds, or why these cannot be had."""
        names = {**self.context.scope, "outputs": done.outputs}
        try:
            added = {name: evaluate(source, names) for name, source in self.step.outputs.items()}
            return {**done.outputs, **to_jsonable_python(added)}
        except (FleetwardError, PydanticSerializationError) as error:
            return Failed(FailureKind.PERMANENT, f"it is done, but its outputs: {error}", done.outputs)

    def _observe(self, why: str) -> Outcome:
        """Ask the action whether it happened; when nobody can tell, only what is idempotent is retried."""
        blind = Failed(FailureKind.AMBIGUOUS, f"nobody can tell whether it happened: {why}")
        parameters = validated(self.action, self.parameters)
        outcome = outcome_of(
            lambda: self.action.observe(parameters, self.context) or blind, f"{self.step.uses}.observe"
        )
        self.look = False
        if outcome is blind or outcome == blind:
            return Failed(FailureKind.TRANSIENT, why) if self.action.idempotent else blind
        if isinstance(outcome, Failed) and outcome.kind is FailureKind.TRANSIENT:
            self.look = True
            return Again(
                LOOK_SECONDS, dict(self.context.state), f"cannot look whether it happened: {outcome.message}"
            )
        return outcome


def call(
    turn: Turn, step: Step, record: StepRecord, *, fresh: bool = False, look: bool = False, effects: int = 0
) -> CallStep:
    """Write down the attempt (``fresh``: the step's first; ``effects`` come next), and return the call."""
    who: dict[str, Any] = {"owner": turn.parts.owner, "fence": turn.fence}
    said = None if fresh else turn.tx.steps.resume_attempt(record.run, record.id, record.attempt, **who)
    if said is None:
        key = f"{record.run}/{record.id}"
        turn.tx.steps.begin_attempt(record.run, record.id, record.attempt, **who, key=key, effects=effects)
    context = context_for(
        turn,
        record,
        record.attempt,
        state=record.resume_state,
        started_at=record.started_at,
        fresh=fresh,
    )
    action = turn.parts.actions.get(step.uses)
    return CallStep(step, action, context, record.parameters, look, said or "")


def resume(turn: Turn, step: Step, record: StepRecord) -> Work | None:
    """Call a waiting step that is due again, or end it when its time is over."""
    if turn.now >= deadline(step, record):
        said = turn.tx.steps.attempt(record.run, record.id, record.attempt)
        why = f"not done within {format_duration(step.timeout)}"
        last = said.message if said is not None else record.error
        why += f": {last}" if last else ""
        if said is not None and said.ended_at is None:
            turn.tx.steps.end_attempt(record.run, record.id, record.attempt, "failed", why)
        turn.move_step(record, StepState.FAILED, why)
        return None
    look = record.id in turn.run.progress.get("look", [])
    return call(turn, step, turn.move_step(record, StepState.RUNNING, quiet=True), look=look)


def interrupted(turn: Turn, step: Step, record: StepRecord) -> Work | None:
    """Go on with a step whose call was cut off: its worker is gone, and nobody knows how far it came."""
    cut = turn.tx.steps.attempt(record.run, record.id, record.attempt)
    effects = cut.effects if cut is not None else 0
    turn.tx.steps.end_attempt(record.run, record.id, record.attempt, "interrupted", "the worker was lost")
    owner = cut.owner if cut is not None else None
    message = f"the worker was lost in the middle of attempt {record.attempt}"
    turn.journal("step.interrupted", message, step=record.id, owner=owner, effects=effects)
    times = turn.tx.steps.count_attempts(record.run, record.id, "interrupted")
    if times >= MAX_INTERRUPTIONS:
        turn.move_step(record, StepState.FAILED, f"{times} workers were lost in the middle of it")
        return None
    if step.uses not in turn.parts.actions:
        turn.move_step(record, StepState.FAILED, f"this worker does not know the action `{step.uses}`")
        return None
    harmless = turn.parts.actions.get(step.uses).idempotent or effects == 0
    record = turn.change_step(record, attempt=record.attempt + 1)
    return call(turn, step, record, look=not harmless)


def _remember_look(turn: Turn, record: StepRecord, *, look: bool) -> None:
    """Keep the steps that must look again whether something happened before they are called."""
    looking = turn.run.progress.get("look", [])
    if look != (record.id in looking):
        turn.remember(look=[*(id_ for id_ in looking if id_ != record.id), *([record.id] if look else [])])


def validated(action: Action[Any], rendered: Mapping[str, Any]) -> Model:
    """Return the parameters as the action declares them; raise `InvalidInput` that names what is wrong."""
    try:
        return action.parameters.model_validate(rendered)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        msg = f"{action.name}: {where or 'parameters'}: {first['msg'].removeprefix('Value error, ')}"
        raise InvalidInput(msg) from error


def deadline(step: Step, record: StepRecord) -> datetime:
    """Return when the step's time is over, retries and waits counted."""
    assert record.started_at is not None, "only a started step has a deadline"  # noqa: S101
    return record.started_at + timedelta(seconds=step.timeout)


def _done(turn: Turn, record: StepRecord, outputs: dict[str, Any]) -> None:
    turn.tx.steps.end_attempt(record.run, record.id, record.attempt, "done")
    for target, dimension in turn.run.progress.get("returned", {}).get(record.id, []):
        if turn.tx.ledger.release(target=target, dimension=Dimension(dimension)):
            turn.journal("ledger.released", f"{target} is back in service", step=record.id)
    turn.move_step(record, StepState.SUCCEEDED, outputs=outputs, resume_state={})


def _failed(turn: Turn, step: Step, record: StepRecord, failed: Failed, state: Mapping[str, Any]) -> None:
    turn.tx.steps.end_attempt(record.run, record.id, record.attempt, "failed", failed.message)
    failures = turn.tx.steps.count_attempts(record.run, record.id, "failed")
    if failed.kind.value in step.retry.on and failures <= step.retry.limit:
        wait = backoff_seconds(step.retry.backoff, record.run, record.id, failures)
        due = min(turn.now + timedelta(seconds=wait), deadline(step, record))
        reason = (
            f"failed ({failed.message}); retry {failures} of {step.retry.limit} in {format_duration(wait)}"
        )
        turn.said[record.id] = reason
        values: dict[str, Any] = {"attempt": record.attempt + 1, "due_at": due}
        turn.move_step(
            record, StepState.WAITING, reason, error=failed.message, resume_state=dict(state), **values
        )
        return
    turn.move_step(
        record,
        StepState.FAILED,
        f"{failed.kind}: {failed.message}",
        error=failed.message,
        outputs=failed.outputs,
        resume_state=dict(state),
    )
