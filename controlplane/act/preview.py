"""Looking at what the steps of a playbook would do now, in their order, and doing nothing.

Every step's action is asked with the parameters that it would get: what it touches, and which
values it would change. What depends on an earlier step's result is said to; it is not guessed.
An action that tries to change something here is a mistake of the action.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from controlplane.act.calls import validated
from controlplane.act.loops import worked_out
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import FleetwardError, Unavailable
from controlplane.kernel.references import reads
from controlplane.kernel.templating import evaluate, render
from controlplane.model.action import Action, ActionRegistry, Change, Dimension
from controlplane.model.graph import ranks
from controlplane.model.playbook import Step
from controlplane.model.preview import PlannedChange, PlannedStep, PlannedTouch, StepOutlook
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.model.topology import WriteTag

T = TypeVar("T")

PREVIEW = "preview"
"""What expressions see as ``run.id``: there is no run."""


@dataclass(slots=True)
class LookContext:
    """Implements `controlplane.model.action.ActionContext` for looking only."""

    ports: Mapping[type, object]
    step_id: str
    service: Service
    scope: Mapping[str, Any]
    clock: Clock
    started_at: datetime
    run_id: str = PREVIEW
    attempt: int = 1
    state: Mapping[str, Any] = field(default_factory=dict)

    def port(self, port: type[T]) -> T:
        try:
            return self.ports[port]  # type: ignore[return-value]
        except KeyError:
            msg = f"there is no {port.__name__} here"
            raise Unavailable(msg) from None

    @contextmanager
    def effect(self, change: Change, part: str = "") -> Iterator[WriteTag]:
        del part
        msg = f"a preview changes nothing, and {change.field} of {change.target} was about to be changed"
        raise AssertionError(msg)
        yield  # type: ignore[unreachable]

    def take_out(self, target: Target, dimension: Dimension) -> str | None:
        msg = f"a preview claims nothing, and {target} was about to go out of service ({dimension})"
        raise AssertionError(msg)

    def give_back(self, target: Target) -> None:
        msg = f"a preview claims nothing, and {target} was about to be given back"
        raise AssertionError(msg)

    def note(self, message: str, **data: Any) -> None:
        """Drop it: there is no journal."""


@dataclass(frozen=True, slots=True)
class Looker:
    """Looks at steps. ``ports`` are asked, never told."""

    actions: ActionRegistry
    ports: Mapping[type, object]
    clock: Clock
    service: Service

    def look(self, steps: Sequence[Step], scope: Mapping[str, Any]) -> tuple[PlannedStep, ...]:
        """Return what each step would do, in the order in which they can be done.

        A name that ``scope`` lacks is not known yet.
        """
        rank = ranks(steps)
        return tuple(self._step(step, scope) for step in sorted(steps, key=lambda each: rank[each.id]))

    def _step(self, step: Step, scope: Mapping[str, Any]) -> PlannedStep:
        if step.uses not in self.actions:
            return _broken(step, f"unknown action `{step.uses}`", reversible=False)
        action = self.actions.get(step.uses)
        waits = _dependence(step.if_, scope, bare=True)
        loop = step.for_each
        items = (
            _dependence(loop.items, scope, bare=isinstance(loop.items, str)) if loop is not None else set()
        )
        try:
            if step.if_ is not None and not waits and not evaluate(step.if_, scope):
                return _planned(step, action, "skipped", f"`{step.if_}` is false")
        except FleetwardError as error:
            return _broken(step, str(error), reversible=action.reversible)
        condition = f"`{step.if_}` depends on {_names(waits)}" if waits else ""
        if loop is not None:
            if items:
                why = f"its items depend on {_names(items)}"
                return _planned(step, action, "depends", why, depends_on=tuple(sorted(waits | items)))
            return self._loop(step, action, scope, waits, condition)
        unknown = {key: _dependence(value, scope) for key, value in step.with_.items()}
        known = {key: value for key, value in step.with_.items() if not unknown[key]}
        try:
            parameters = render(known, scope)
            if any(unknown.values()):
                late = {name for names in unknown.values() for name in names}
                why = "; ".join(
                    f"`{key}` depends on {_names(names)}" for key, names in unknown.items() if names
                )
                shown = {"parameters": parameters, "depends_on": tuple(sorted(waits | late))}
                return _planned(step, action, "depends", "; ".join(filter(None, (condition, why))), **shown)
            seen = self._ask(step, action, parameters, scope)
        except FleetwardError as error:
            return _broken(step, str(error), reversible=action.reversible)
        outlook = "depends" if waits else "runs"
        return _planned(
            step, action, outlook, condition, parameters=parameters, depends_on=tuple(sorted(waits)), **seen
        )

    def _loop(
        self, step: Step, action: Action[Any], scope: Mapping[str, Any], waits: set[str], condition: str
    ) -> PlannedStep:
        """Look at each item as at a step of its own, and put what they do together."""
        assert step.for_each is not None, "only a forEach has items"  # noqa: S101
        try:
            items = worked_out(step.for_each, scope)
        except FleetwardError as error:
            return _broken(step, str(error), reversible=action.reversible)
        single = step.model_copy(update={"for_each": None, "if_": None})
        seen = [self._step(single, {**scope, step.for_each.as_: item}) for item in items]
        worst = max((each.outlook for each in seen), key=_OUTLOOKS.index, default="skipped")
        return PlannedStep(
            id=step.id,
            uses=step.uses,
            outlook="depends" if waits and worst == "runs" else worst,
            why="; ".join(dict.fromkeys(filter(None, [condition, *(each.why for each in seen)])))
            or f"{len(items)} items",
            depends_on=tuple(sorted(waits | {name for each in seen for name in each.depends_on})),
            parameters=dict(step.with_),
            changes=tuple(change for each in seen for change in each.changes),
            touches=tuple(touch for each in seen for touch in each.touches),
            undo=step.undo and action.reversible,
        )

    def _ask(
        self, step: Step, action: Action[Any], rendered: Mapping[str, Any], scope: Mapping[str, Any]
    ) -> dict[str, Any]:
        parameters = validated(action, rendered)
        context = LookContext(self.ports, step.id, self.service, scope, self.clock, self.clock.now())
        touches = [
            PlannedTouch(target=str(touch.target), dimension=touch.dimension, returns=touch.returns)
            for touch in action.touches(parameters, context)
        ]
        changes = [
            PlannedChange(
                target=str(change.target), field=change.field, before=change.before, after=change.intended
            )
            for change in action.plan(parameters, context)
        ]
        return {"touches": tuple(touches), "changes": tuple(changes)}


_OUTLOOKS: tuple[StepOutlook, ...] = ("skipped", "runs", "depends", "broken")


def _dependence(source: Any, scope: Mapping[str, Any], *, bare: bool = False) -> set[str]:
    """Return what ``source`` needs and cannot know yet: steps by their ids, other names as they are."""
    if source is None:
        return set()
    found = set()
    for path in reads(source, bare=bare):
        if path[0] == "steps" and "steps" not in scope:
            found.add(f"step {path[1]}" if len(path) > 1 else "earlier steps")
        elif path[0] not in scope:
            found.add(path[0])
    return found


def _names(names: set[str]) -> str:
    return " and ".join(sorted(names))


def _planned(step: Step, action: Action[Any], outlook: Any, why: str, **more: Any) -> PlannedStep:
    undo = step.undo and action.reversible
    return PlannedStep(id=step.id, uses=step.uses, outlook=outlook, why=why, undo=undo, **more)


def _broken(step: Step, why: str, *, reversible: bool) -> PlannedStep:
    undo = step.undo and reversible
    return PlannedStep(id=step.id, uses=step.uses, outlook="broken", why=why, undo=undo)
