"""Holding what came of a case against what was expected: two texts of the same shape, and their difference.

Compared is what the test names; what it leaves out is not shown. The two texts are YAML as it
stands in the test, a line per step, so that a wrong order reads as one.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from controlplane.decide.explain import why
from controlplane.model.records import StepRecord, UndoView
from controlplane.model.rehearsal import (
    Expectation,
    FleetExpectation,
    StepExpectation,
    UndoExpectation,
)
from controlplane.model.states import StepState
from controlplane.platforms.port import RESTART
from controlplane.rehearsal.runner import Ending

Mark = Literal[" ", "-", "+"]
Line = tuple[Mark, str]
"""``-`` was expected and did not come, ``+`` came and was not expected, a space: both."""

ABSENT = "(none)"


def difference(expected: Expectation, ending: Ending) -> list[Line]:
    """Return the lines of the difference; none when all that is expected has come."""
    wanted, found = _texts(expected, ending)
    if wanted == found:
        return []
    lines: list[Line] = []
    blocks = difflib.SequenceMatcher(a=wanted, b=found, autojunk=False).get_opcodes()
    for tag, first, last, from_, to in blocks:
        if tag == "equal":
            lines += [(" ", text) for text in wanted[first:last]]
        else:
            lines += [("-", text) for text in wanted[first:last]]
            lines += [("+", text) for text in found[from_:to]]
    return lines


def explanation(ending: Ending) -> str:
    """Return why it came so, in one line."""
    if ending.run is None:
        return _reason(ending)
    run = ending.run
    text = run.waiting if run.ended_at is None and run.waiting else run.reason
    said = f"the run {run.state}: {text}" if text else f"the run {run.state}"
    return "; ".join([said, *(f"an answer did not count: {each}" for each in ending.refused)])


def _texts(expected: Expectation, ending: Ending) -> tuple[list[str], list[str]]:
    """Return what was expected and what came, each as lines."""
    wanted, found = [f"decision: {expected.decision}"], [f"decision: {_decision(ending)}"]
    guards = {each.guard: str(each.verdict) for each in (ending.decision.guards if ending.decision else ())}
    for name, verdict in expected.guards.items():
        wanted.append(f"guards.{name}: {verdict}")
        found.append(f"guards.{name}: {guards.get(name, ABSENT)}")
    if expected.why is not None:
        wanted.append(f"why: {_flow(expected.why)}")
        found.append(f"why: {_flow(_part(expected.why, _reason(ending)))}")
    if expected.state is not None:
        wanted.append(f"state: {expected.state}")
        found.append(f"state: {ending.run.state if ending.run is not None else ABSENT}")
    for key, lines, came in (
        ("steps", *_steps(expected.steps, ending)),
        ("undo", *_undo(expected.undo, ending.undo)),
        ("escalations", *_listed(expected.escalations, escalations(ending))),
        ("notified", *_listed(expected.notified, _notified(ending))),
        ("journal", *_journal(expected.journal, [line.event for line in ending.journal])),
    ):
        if lines is not None:
            wanted += _block(key, lines)
            found += _block(key, came)
    if expected.fleet is not None:
        _compare_fleet(expected.fleet, ending, wanted, found)
    return wanted, found


def _decision(ending: Ending) -> str:
    return "notCalled" if ending.decision is None else ending.decision.outcome


def _reason(ending: Ending) -> str:
    if ending.run is not None:
        return ending.run.reason
    if ending.decision is None:
        return "no trigger of the playbook is called for by this event"
    if ending.decision.outcome == "notMatched":
        return str(ending.decision.values["reason"])
    return why(ending.decision)


def _block(key: str, lines: Sequence[str]) -> list[str]:
    return [f"{key}:", *(f"  - {line}" for line in lines)] if lines else [f"{key}: []"]


def in_order(ending: Ending) -> list[StepRecord]:
    """Return the run's steps in the order in which they began, then those that never did."""
    first: dict[str, int] = {}
    for line in ending.journal:
        if line.step is not None and line.event in {"step.running", "step.skipped", "step.failed"}:
            first.setdefault(line.step, line.id)
    never = max(first.values(), default=0) + 1
    return sorted(ending.steps, key=lambda step: (first.get(step.id, never), step.position))


def _steps(expected: Sequence[StepExpectation] | None, ending: Ending) -> tuple[list[str] | None, list[str]]:
    if expected is None:
        return None, []
    asked = {each.id: each for each in expected}
    attempts: dict[str, int] = {}
    for attempt in ending.attempts:
        attempts[attempt.step] = max(attempts.get(attempt.step, 0), attempt.attempt)
    came = [
        _flow(_step(asked.get(record.id), record, attempts.get(record.id, 0))) for record in in_order(ending)
    ]
    return [_flow(_wanted_step(each)) for each in expected], came


def _wanted_step(each: StepExpectation) -> dict[str, Any]:
    named = each.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"id": each.id, "is": each.is_.value} | named


def _step(asked: StepExpectation | None, record: StepRecord, attempts: int) -> dict[str, Any]:
    """Return what came of a step, as far as the test asks for it."""
    shown: dict[str, Any] = {"id": record.id, "is": record.state.value}
    if asked is None:
        return shown
    if asked.attempts is not None:
        shown["attempts"] = attempts
    if asked.with_ is not None:
        shown["with"] = _named(asked.with_, record.parameters)
    if asked.outputs is not None:
        shown["outputs"] = _named(asked.outputs, record.outputs)
    if asked.error is not None:
        shown["error"] = _part(asked.error, record.error)
    elif asked.is_ is not StepState.FAILED and record.state is StepState.FAILED:
        shown["error"] = record.error
    return shown


def _undo(
    expected: Sequence[UndoExpectation] | None, came: Sequence[UndoView]
) -> tuple[list[str] | None, list[str]]:
    if expected is None:
        return None, []
    wanted = [_flow(each.model_dump(mode="json", by_alias=True, exclude_none=True)) for each in expected]
    details = {(each.step, each.target, each.field): each.detail for each in expected}
    found = []
    for view in reversed(came):
        shown = {"step": view.step, "target": view.target, "field": view.field, "is": view.status.value}
        part = details.get((view.step, view.target, view.field))
        if part is not None:
            shown["detail"] = _part(part, view.detail)
        found.append(_flow(shown))
    return wanted, found


def escalations(ending: Ending) -> list[str]:
    """Return who was told that the run did not succeed, in order."""
    return [str(line.data["channel"]) for line in ending.journal if line.event == "run.escalated"]


def _notified(ending: Ending) -> list[str]:
    return [to for key, to in ending.sent.items() if "/escalate/" not in key]


def _listed(expected: Sequence[str] | None, came: Sequence[str]) -> tuple[list[str] | None, list[str]]:
    return (None, []) if expected is None else ([*expected], [*came])


def _journal(expected: Sequence[str] | None, came: Sequence[str]) -> tuple[list[str] | None, list[str]]:
    """Compare as events in this order with others between them; all that came is shown when they did not."""
    if expected is None:
        return None, []
    left = iter(came)
    return [*expected], [*expected] if all(event in left for event in expected) else [*came]


def _compare_fleet(expected: FleetExpectation, ending: Ending, wanted: list[str], found: list[str]) -> None:
    restarted = [record.target.rpartition("/")[2] for record in ending.writes if record.op == RESTART]
    came: dict[str, Any] = {
        "weights": _named(expected.weights, ending.weights) if expected.weights is not None else None,
        "ready": ending.ready,
        "isolated": list(ending.isolated),
        "restarted": restarted,
        "writes": len(ending.writes),
        "shed": list(ending.shed),
        "held": list(ending.held),
    }
    asked = expected.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name, value in asked.items():
        wanted.append(f"fleet.{name}: {_flow(sorted(value) if name in {'held', 'isolated'} else value)}")
        found.append(f"fleet.{name}: {_flow(came[name])}")


def _named(asked: Mapping[str, Any], came: Mapping[str, Any]) -> dict[str, Any]:
    """Return of ``came`` what is asked for; a number that is equal to the last digits reads the same."""
    return {name: _same(value, came.get(name, ABSENT)) for name, value in asked.items()}


def _same(asked: Any, came: Any) -> Any:
    numbers = isinstance(asked, int | float) and isinstance(came, int | float)
    if numbers and not isinstance(asked, bool) and not isinstance(came, bool):
        return asked if math.isclose(asked, came, rel_tol=1e-9, abs_tol=1e-12) else came
    return came


def _part(asked: str, came: str) -> str:
    return asked if asked in came else came


def _flow(value: Any) -> str:
    """Write a value as YAML in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    if isinstance(value, str) and value and not set(value) & set("{}[],:#\"'\n&*!|>%@`"):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)
