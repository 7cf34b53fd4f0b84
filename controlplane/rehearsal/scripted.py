"""Actions whose results a case writes: the engine sees the real action, but for the calls by script."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from controlplane.kernel.registry import Registry
from controlplane.model.action import Action, ActionContext, ActionRegistry
from controlplane.model.outcome import Again, Done, Failed, Outcome
from controlplane.model.rehearsal import Script

Scripts = Mapping[str, Sequence[Script]]


def with_scripts(actions: ActionRegistry, used: Mapping[str, set[str]], scripts: Scripts) -> ActionRegistry:
    """Return the actions, those that scripted steps use (``used``: by action) answering by script."""
    found: ActionRegistry = Registry("action")
    for name in actions.names():
        action = actions.get(name)
        mine = {step: scripts[step] for step in used.get(name, set()) & scripts.keys()}
        found.add(name, _scripted(action, mine) if mine else action)
    return found


def _scripted(action: Action[Any], scripts: Scripts) -> Action[Any]:
    """Return a copy of ``action`` that runs by script; all that it declares stays its own.

    A subclass made here, since the engine looks at an action's class to see what it declares.
    """
    calls: dict[str, int] = {}

    def run(_: Action[Any], parameters: Any, context: ActionContext) -> Outcome:
        step = _step_of(context.step_id, scripts)
        if step is None:
            return action.run(parameters, context)
        number = calls[context.step_id] = calls.get(context.step_id, 0) + 1
        script = scripts[step][min(number, len(scripts[step])) - 1]
        return action.run(parameters, context) if script.real else _outcome(script, context)

    def observe(_: Action[Any], parameters: Any, context: ActionContext) -> Outcome | None:
        return action.observe(parameters, context) if _step_of(context.step_id, scripts) is None else None

    made = copy.copy(action)
    name, own = f"Scripted{type(action).__name__}", {"run": run, "observe": observe}
    made.__class__ = type(name, (type(action),), own)
    return made


def _step_of(step: str, scripts: Scripts) -> str | None:
    """Return the scripted step that a call belongs to; an item of a loop belongs to its step."""
    return next((name for name in (step, step.partition("[")[0]) if name in scripts), None)


def _outcome(script: Script, context: ActionContext) -> Outcome:
    if script.done is not None:
        return Done(dict(script.done))
    if script.again is not None:
        return Again(script.again, dict(context.state), script.message)
    assert script.failed is not None, "the model demands one outcome"  # noqa: S101
    return Failed(script.failed, script.message or "scripted")
