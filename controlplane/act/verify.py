"""Proving that a run helped: looking at its checks until each has a result.

Looks happen outside of any transaction; `controlplane.act.checks` judges. What the checks
remember is kept with the run, so that a crash costs one look.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.act.checks import CheckResult, CheckState, begin, look, measure, summary
from controlplane.act.ending import begin_ending
from controlplane.act.engine import CONTINUE, Next, Parts, Turn, Wait, Work
from controlplane.kernel.errors import FleetwardError
from controlplane.kernel.templating import render
from controlplane.model.action import SignalReader
from controlplane.model.playbook import QueryCheck, SignalCheck
from controlplane.model.ports import Metrics
from controlplane.model.records import Run
from controlplane.model.signals import SignalsSnapshot
from controlplane.model.states import RunState

Check = SignalCheck | QueryCheck
Seen = SignalsSnapshot | float | FleetwardError | None


def verify(turn: Turn) -> Next:
    """Return the looks that are due, a wait for the next, or decide the run's end."""
    states = _states(turn)
    result, words = summary(states)
    if result is not None:
        return _decide(turn, result, words, states)
    due = [i for i, state in enumerate(states) if state.result is None and state.due_at <= turn.now]
    if not due:
        return Wait(min(state.due_at for state in states if state.result is None), f"proving: {words}")
    checks = [(index, turn.pinned.plan.verify[index]) for index in due]
    asks = any(isinstance(check, QueryCheck) for _, check in checks)
    return Look(turn.parts, turn.run, checks, turn.scope if asks else {})


@dataclass(slots=True)
class Look:
    """Work: look at the signals and queries whose time it is."""

    parts: Parts
    run: Run
    checks: list[tuple[int, Check]]
    scope: Mapping[str, Any]
    """What queries may name; nothing when there is none."""

    def perform(self) -> list[Seen]:
        return [self._look(check) for _, check in self.checks]

    def _look(self, check: Check) -> Seen:
        try:
            if isinstance(check, QueryCheck):
                return self.parts.port(Metrics).instant(str(render(check.query, self.scope)))
            return self.parts.port(SignalReader).latest(self.run.service)
        except FleetwardError as error:
            return error

    def record(self, turn: Turn, result: list[Seen]) -> Work | None:
        states = _states(turn)
        for (index, check), seen in zip(self.checks, result, strict=True):
            before = states[index]
            states[index] = after = _judge(turn, check, before, seen)
            if after.result is not None or after.last_good != before.last_good:
                word = after.result or {True: "good", False: "bad", None: "unknown"}[after.last_good]
                turn.journal(f"verify.{word}", after.message, check=index)
        turn.remember(verify=[state.model_dump(mode="json", by_alias=False) for state in states])
        return None


def _judge(turn: Turn, check: Check, state: CheckState, seen: Seen) -> CheckState:
    if isinstance(check, QueryCheck):
        assert not isinstance(seen, SignalsSnapshot), "a query yields a number"  # noqa: S101
        return measure(check, state, seen, turn.now)
    return look(
        check,
        state,
        seen if isinstance(seen, SignalsSnapshot) else None,
        signal=turn.run.signal,
        target=turn.run.target,
        effect_at=turn.run.effect_at,
        now=turn.now,
    )


def _states(turn: Turn) -> list[CheckState]:
    kept = turn.run.progress.get("verify")
    if kept is not None:
        return [CheckState.model_validate(state) for state in kept]
    return [begin(check, turn.now, turn.run.effect_at) for check in turn.pinned.plan.verify]


def _decide(turn: Turn, result: CheckResult, words: str, states: list[CheckState]) -> Next:
    report = [{"result": state.result, "message": state.message, "values": state.values} for state in states]
    turn.update(result={**turn.run.result, "verify": report})
    if result is CheckResult.SUCCESSFUL:
        turn.move(RunState.SUCCEEDED, f"proved: {words}")
        return CONTINUE
    if result is CheckResult.FAILED:
        undo = turn.pinned.plan.on_failure.undo
        return begin_ending(turn, RunState.FAILED, f"it did not help: {words}", undo=undo)
    return begin_ending(
        turn, RunState.INCONCLUSIVE, f"nobody can tell whether it helped: {words}", undo=False
    )
