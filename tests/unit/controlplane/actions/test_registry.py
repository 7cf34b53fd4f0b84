"""What holds for every action there is: documented, described, declared, and harmless until it runs."""

import json
import re
from typing import Any

import pytest

from controlplane.actions import BUILTIN, register
from controlplane.actions.check import known_parameters, validate_parameters
from controlplane.kernel.registry import Registry
from controlplane.kernel.yaml import load_documents
from controlplane.model.action import Action, ActionRegistry, Reach, stays_within
from controlplane.model.outcome import Again, Done
from controlplane.model.target import Target
from tests.support.steps import StepDriver

PERMISSION = re.compile(
    r"(get|list|watch|create|update|patch|delete) (core|apps|batch|[a-z0-9]+(\.[a-z0-9-]+)+)/[a-z]+(/[a-z]+)?"
)
EXAMPLES: dict[str, dict[str, Any]] = {
    "approval.request": {"text": "go on?"},
    "cache.prewarm": {"zone": "zone-a", "prompts": ["You are a helpful assistant."]},
    "capacity.check": {"without": "zone-a", "perReplica": 4},
    "freeze": {"reason": "the budget is spent", "for": "1h"},
    "gpu.recycle": {"replica": "replica-a1-0"},
    "halt": {"reason": "look first", "for": "30m"},
    "http.request": {"url": "http://tickets.example.com/t", "method": "PUT", "body": {"a": 1}},
    "limits.set": {"zone": "zone-a", "requestsPerSecond": 5},
    "limits.tune": {"zone": "zone-a", "slo": "tpot", "within": "10s"},
    "load.shed": {"tiers": ["batch"]},
    "node.cordon": {"node": "node-a1"},
    "node.drain": {"node": "node-a1"},
    "node.replace": {"node": "node-a1"},
    "node.restore": {"node": "node-a1"},
    "node.uncordon": {"node": "node-a1"},
    "notify.send": {"channel": "oncall", "title": "t"},
    "query.wait": {"query": "q", "condition": "result < 1"},
    "replica.drain": {"replica": "replica-a1-0"},
    "replica.isolate": {"replica": "replica-a1-0"},
    "replica.restart": {"replica": "replica-a1-0"},
    "replica.restore": {"replica": "replica-a1-0", "hold": "6s"},
    "traffic.restore": {"zone": "zone-a"},
    "traffic.shift": {"zone": "zone-a", "weight": 0, "over": "3s"},
    "workload.restart": {"zones": ["zone-a"]},
    "workload.scale": {"zone": "zone-a", "by": "+1"},
}


def registry() -> ActionRegistry:
    actions: ActionRegistry = Registry("action")
    register(actions)
    return actions


ACTIONS = list(registry())
every_action = pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.name)


def driver(action: Action[Any]) -> StepDriver:
    step = StepDriver(action, **EXAMPLES[action.name])
    step.metrics.values = [0.0]
    if action.name == "limits.tune":
        step.signals.slo = False
    if action.name == "traffic.restore":
        step.set_weight(0)
    if action.name == "replica.restore":
        replica = Target("chat", "local", "zone-a", "node-a1", "replica-a1-0")
        step.platform.set_rotation(replica, False, expected_version=None, by=None)
    if action.name in {"node.uncordon", "node.restore"}:
        node = Target("chat", "local", "zone-a", "node-a1")
        step.platform.set_schedulable(node, False, expected_version=None, by=None)
    return step


def documented_example(action: Action[Any]) -> dict[str, Any]:
    found = re.search(r"```yaml\n(.*?)```", action.__doc__ or "", re.DOTALL)
    assert found, f"{action.name} shows no example"
    lines = [line.removeprefix("    ") for line in found.group(1).splitlines()]
    (document,) = load_documents("\n".join(lines), action.name)
    assert document.problems == []
    return dict(document.data)


def test_every_builtin_is_registered_once_under_its_own_name() -> None:
    assert registry().names() == sorted(action.name for action in BUILTIN)
    assert registry().names() == sorted(EXAMPLES)


@every_action
def test_its_docstring_is_documentation_with_an_example_that_validates(action: Action[Any]) -> None:
    example = documented_example(action)

    assert example["uses"] == action.name
    assert validate_parameters(action, example["with"], set()) == []
    assert len((action.__doc__ or "").split()) > 40


@every_action
def test_its_parameters_are_all_described_and_its_schema_serialises(action: Action[Any]) -> None:
    schema = action.parameters.model_json_schema(by_alias=True)

    assert json.loads(json.dumps(schema)) == schema
    assert sorted(schema["properties"]) == sorted(known_parameters(action))
    for name, entry in schema["properties"].items():
        assert entry.get("description"), f"{action.name}: {name} is not described"


@every_action
def test_its_permissions_are_well_formed(action: Action[Any]) -> None:
    assert [entry for entry in action.permissions if not PERMISSION.fullmatch(entry)] == []


@every_action
def test_a_dry_run_writes_nothing(action: Action[Any]) -> None:
    step = driver(action)
    writes = step.platform.writes()

    step.action.touches(step.parameters, step.context())
    changes = step.action.plan(step.parameters, step.context())

    assert step.platform.writes() == writes
    assert step.records == {}
    assert step.outbox.sent == []
    json.dumps([[str(change.target), change.field, change.before, change.intended] for change in changes])


@every_action
def test_it_ends_with_the_outputs_that_it_documents_and_json_in_between(action: Action[Any]) -> None:
    step = driver(action)
    outcome = step.call()
    while isinstance(outcome, Again):
        assert json.loads(json.dumps(outcome.state)) == outcome.state
        step.clock.advance(outcome.after)
        outcome = step.call()

    assert isinstance(outcome, Done)
    assert json.loads(json.dumps(outcome.outputs)) == outcome.outputs
    assert set(outcome.outputs) <= set(action.outputs)
    assert {name for name in action.outputs if name != "reason"} == set(outcome.outputs)


@every_action
def test_what_it_changes_is_what_it_planned_and_what_it_touches(action: Action[Any]) -> None:
    step = driver(action)
    touches = step.action.touches(step.parameters, step.context())
    planned = step.action.plan(step.parameters, step.context())
    step.run()

    assert {(str(change.target), change.field) for change in planned} == set(step.records)
    touched = {str(touch.target) for touch in touches}
    platform = {record.target for record in step.platform.writes() if record.by}
    assert bool(platform) <= bool(touched)
    if touches and step.records:
        written = {Target.parse(target) for target, _ in step.records}
        assert all(any(touch.target.contains(each) for touch in touches) for each in written)
        assert touched <= {
            str(target.at(Target.parse(place).level)) for target in written for place in touched
        }


@every_action
def test_it_reaches_no_further_than_it_promises(action: Action[Any]) -> None:
    step = driver(action)
    assert stays_within(action.reach, step.action.touches(step.parameters, step.context()))
    step.run()
    if action.reach is Reach.NONE:
        assert [record for record in step.platform.writes() if record.by] == []


@every_action
def test_what_says_that_it_can_be_undone_is_undone(action: Action[Any]) -> None:
    step = driver(action)
    before = step.standing()
    step.run()
    results = step.undo()

    if action.reversible:
        assert {result.status.value for result in results} - {"kept"} == {"undone"}
        assert step.standing() == before
    else:
        assert all(result.status.value == "failed" for result in results)


@every_action
def test_only_what_is_idempotent_may_leave_observing_out(action: Action[Any]) -> None:
    assert action.idempotent or type(action).observe is not Action.observe
