"""Expressions of a playbook: which names each of them knows, and where a wrong one is reported."""

import pytest

from controlplane.actions import register
from controlplane.actions.validate import check_bundle
from controlplane.kernel.registry import Registry
from controlplane.model.action import ActionRegistry
from controlplane.model.documents import load_bundle

TEXT = """\
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {{name: p}}
spec:
  inputs: {{x: {{type: number, default: 1}}}}
  steps:
    - id: shift
      uses: traffic.shift
      forEach: {{items: {items}, as: where}}
      with: {{zone: "{{{{ {zone} }}}}", weight: 0}}
      outputs: {{kept: {kept}}}
  onFailure: {{escalate: [{{playbook: {next}}}]}}
---
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {{name: r}}
spec: {{steps: [{{id: a, uses: replica.restart, with: {{target: a/b/c/d/e}}}}]}}
"""
GOOD = {"items": "service.zones", "zone": "where", "kept": "outputs.weight - inputs.x", "next": "r"}


def problems(**changed: str) -> dict[str, str]:
    actions: ActionRegistry = Registry("action")
    register(actions)
    bundle = check_bundle(load_bundle([("p.yaml", TEXT.format(**{**GOOD, **changed}))]), actions)
    return {problem.path: problem.message for problem in bundle.problems}


def test_a_step_for_each_item_knows_the_item_and_outputs_know_the_outputs() -> None:
    assert problems() == {}


@pytest.mark.parametrize(
    ("changed", "path", "name"),
    [
        ({"items": "where"}, "spec.steps[0].forEach.items", "where"),
        ({"items": '["{{ zone }}"]'}, "spec.steps[0].forEach.items[0]", "zone"),
        ({"zone": "item"}, "spec.steps[0].with.zone", "item"),
        ({"kept": "result"}, "spec.steps[0].outputs.kept", "result"),
        ({"next": "q"}, "spec.onFailure.escalate[0].playbook", "q"),
    ],
)
def test_an_unknown_name_is_found_where_it_stands(changed: dict[str, str], path: str, name: str) -> None:
    assert path in problems(**changed)
    assert f"`{name}`" in problems(**changed)[path]
