"""What the expressions of one playbook may name, place by place: its inputs, and the steps that came before.

Works on the raw document, which may be wrong in its shape: what cannot be known is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from controlplane.kernel.templating import OutOfPlace, names_read
from controlplane.model.action import ActionRegistry
from controlplane.model.graph import dependencies
from controlplane.model.vocabulary import LOOP_OUTPUTS, RUN, STEP, trigger_names


@dataclass(frozen=True, slots=True)
class _Named:
    """What the order of steps is made of, as far as it is written well."""

    id: str
    needs: tuple[str, ...] | None


class Names:
    """The vocabularies of one playbook."""

    def __init__(self, spec: Mapping[str, Any], actions: ActionRegistry) -> None:
        self._actions = actions
        inputs = spec.get("inputs")
        self.trigger = trigger_names(inputs if isinstance(inputs, dict) else {})
        self._steps = {str(step["id"]): step for step in _dicts(spec.get("steps")) if "id" in step}
        order = [_Named(id_, _needs(step)) for id_, step in self._steps.items()]
        self._needed = dependencies(order)

    def of_step(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a step's conditions may name."""
        mine = str(step.get("id"))
        before = set(self._before(mine))
        return self._running({id_: self._step(id_, id_ in before, mine) for id_ in self._steps})

    def of_parameters(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """The same for its ``with``: of a ``forEach`` also the item."""
        each = step.get("forEach")
        item = each.get("as", "item") if isinstance(each, dict) else None
        return self.of_step(step) | ({item: None} if isinstance(item, str) else {})

    def of_outputs(self, step: Mapping[str, Any]) -> dict[str, Any]:
        """The same for its ``outputs``: also the action's own."""
        return self.of_parameters(step) | {"outputs": self._declared(step)}

    def at_the_end(self) -> dict[str, Any]:
        """Return what may be named once all steps are over."""
        return self._running({id_: self._step(id_, before=True, mine="") for id_ in self._steps})

    def _running(self, steps: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.trigger, "steps": steps, "run": dict.fromkeys(RUN)}

    def _step(self, id_: str, before: bool, mine: str) -> Any:  # noqa: FBT001 - a fact of the step, named at the calls
        if id_ == mine:
            return OutOfPlace("a step cannot read its own results: in `outputs` they are called `outputs`")
        if not before:
            return OutOfPlace(f"step `{id_}` need not be over when `{mine}` starts: name it in `needs`")
        return dict.fromkeys(STEP) | {"outputs": self._outputs(self._steps[id_])}

    def _outputs(self, step: Mapping[str, Any]) -> Any:
        if "forEach" in step:
            return dict.fromkeys(LOOP_OUTPUTS)
        declared, own = self._declared(step), step.get("outputs")
        return (
            None if declared is None else {**declared, **dict.fromkeys(own if isinstance(own, dict) else ())}
        )

    def _declared(self, step: Mapping[str, Any]) -> Any:
        uses = step.get("uses")
        if uses not in self._actions:
            return None
        return dict.fromkeys(self._actions.get(str(uses)).outputs) or None

    def _before(self, id_: str) -> Iterator[str]:
        seen: set[str] = set()
        waiting = list(self._needed.get(id_, ()))
        while waiting:
            one = waiting.pop()
            if one not in seen:
                seen.add(one)
                yield one
                waiting += self._needed.get(one, ())


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _needs(step: Mapping[str, Any]) -> tuple[str, ...] | None:
    needs = step.get("needs")
    return tuple(str(each) for each in needs) if isinstance(needs, list) else None


def used_inputs(value: Any) -> set[str]:
    """Return the inputs that any text inside ``value`` reads; ``*`` when one is chosen by a value.

    A text that is no expression reads nothing; one that happens to be one does no harm here.
    """
    if isinstance(value, Mapping):
        return {name for part in value.values() for name in used_inputs(part)}
    if isinstance(value, list):
        return {name for part in value for name in used_inputs(part)}
    if not isinstance(value, str) or "inputs" not in value:
        return set()
    paths = names_read(value)
    return {path[1] if len(path) > 1 else "*" for path in paths if path[0] == "inputs"}
