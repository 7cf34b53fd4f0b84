"""All actions that declare how a part shall stand keep the same promises, whatever else each of them does."""

from typing import Any

import pytest

from controlplane.actions import register
from controlplane.actions.standing import Declaration, NodeDeclaration
from controlplane.kernel.registry import Registry
from controlplane.model.action import Action, ActionRegistry, Dimension, UndoStatus
from controlplane.model.outcome import Done
from controlplane.model.target import Target
from tests.support.steps import StepDriver

NODE = Target("chat", "local", "zone-a", "node-a1")
REPLICA = Target("chat", "local", "zone-a", "node-a1", "replica-a1-0")
OTHER = Target("chat", "local", "zone-a", "node-a1", "replica-a1-1")


def declarations() -> list[Declaration[Any]]:
    registry: ActionRegistry = Registry("action")
    register(registry)
    found = [registry.get(name) for name in registry.names()]
    return [action for action in found if isinstance(action, Declaration)]


every = pytest.mark.parametrize("action", declarations(), ids=lambda action: action.name)


def driver(action: Action[Any], *, stands: bool) -> StepDriver:
    """Return the action on a node all of which stands so."""
    step = StepDriver(action, **({"node": "node-a1"} if _is_of_a_node(action) else {"replica": REPLICA.name}))
    for place in (REPLICA, OTHER):
        step.platform.set_rotation(place, stands, expected_version=None, by=None)
    step.platform.set_schedulable(NODE, stands, expected_version=None, by=None)
    return step


def _is_of_a_node(action: Action[Any]) -> bool:
    return action.name.startswith("node.")


def effects(step: StepDriver) -> list[tuple[Target, Any]]:
    return [(Target.parse(each.target), each.after) for each in step.platform.writes() if each.by is not None]


def test_these_are_all_that_work_on_rotation_and_cordons() -> None:
    assert {action.name for action in declarations()} == {
        "replica.isolate", "replica.drain", "replica.restore",
        "node.cordon", "node.uncordon", "node.drain", "node.restore",
    }  # fmt: skip
    wide = {action.name for action in declarations() if isinstance(action, NodeDeclaration)}
    assert wide == {"node.drain", "node.restore"}


@every
def test_what_it_does_is_what_it_plans_in_that_order(action: Declaration[Any]) -> None:
    step = driver(action, stands=not action.wanted)
    planned = step.action.plan(step.parameters, step.context())

    assert isinstance(step.run(), Done)
    assert effects(step) == [(change.target, change.intended) for change in planned]
    assert {change.intended for change in planned} == {action.wanted}
    assert step.action.plan(step.parameters, step.context()) == []


@every
def test_it_touches_one_part_which_it_takes_away_or_gives_back(action: Declaration[Any]) -> None:
    step = driver(action, stands=not action.wanted)
    (touch,) = step.action.touches(step.parameters, step.context())

    assert touch.target == (NODE if _is_of_a_node(action) else REPLICA)
    assert touch.dimension is action.loses
    assert touch.returns == (action.wanted and action.loses is Dimension.CAPACITY)


@every
@pytest.mark.parametrize("when", ["after", "lost"])
def test_a_lost_answer_makes_each_effect_once(action: Declaration[Any], when: Any) -> None:
    step = driver(action, stands=not action.wanted)
    planned = len(step.action.plan(step.parameters, step.context()))
    for op in ("rotation", "schedulable"):
        step.platform.fail_next(op, when)

    assert isinstance(step.run(), Done)
    assert len(effects(step)) == planned


@every
def test_undo_puts_all_of_it_back_the_newest_first(action: Declaration[Any]) -> None:
    step = driver(action, stands=not action.wanted)
    step.run()
    done = effects(step)

    assert {result.status for result in step.undo()} == {UndoStatus.UNDONE}
    assert effects(step)[len(done) :] == [(target, not value) for target, value in reversed(done)]


@every
def test_what_stands_as_wanted_is_left_alone_also_by_undo(action: Declaration[Any]) -> None:
    step = driver(action, stands=action.wanted)

    assert isinstance(step.run(), Done)
    assert (effects(step), step.undo()) == ([], [])


@every
def test_its_permissions_cover_what_it_declares(action: Declaration[Any]) -> None:
    kinds = {"pods" if field == "inRotation" else "nodes" for field in _fields(action)}
    assert all(any(kind in each for each in action.permissions) for kind in kinds)


def _fields(action: Declaration[Any]) -> set[str]:
    step = driver(action, stands=not action.wanted)
    return {change.field for change in step.action.plan(step.parameters, step.context())}
