"""A playbook and one case of its test, written as a person would, and what the rehearsal says of it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ruamel.yaml import YAML

from controlplane.bootstrap.documents import action_registry
from controlplane.model.documents import load_bundle
from controlplane.model.rehearsal import Case
from controlplane.rehearsal.compare import difference
from controlplane.rehearsal.runner import Ending, Stage
from controlplane.rehearsal.suite import Suite, suites

PLAYBOOK = """
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: evacuate}
spec:
  triggers: [{type: slo, slo: chat-success, by: zone}]
  when: incident.zone in service.zones
  inputs: {weight: {type: number, default: 0}}
  throttle: {onceWithin: 1m}
  steps:
    - {id: tell, uses: notify.send, with: {channel: oncall, title: "{{ incident.zone }} is bad"}}
    - {id: shift, uses: traffic.shift, with: {zone: "{{ incident.zone }}", weight: "{{ inputs.weight }}"}}
  verify: [{signal: trigger, within: 30s, for: 4s}]
  onFailure: {undo: true, escalate: [{notify: oncall}, {notify: boss}]}
"""

TEST = """
apiVersion: fleetward.dev/v1
kind: PlaybookTest
metadata: {name: evacuate}
spec:
  playbook: evacuate
  cases:
    - {name: one, event: {target: chat/local/zone-a}, expect: {decision: refused}}
"""

EVENT = {"target": "chat/local/zone-a", "signal": "slo:chat-success"}
WELL = {"state": "succeeded", "steps": [{"id": "tell"}, {"id": "shift"}]}


def suite_of(playbook: str = PLAYBOOK, *beside: str) -> Suite:
    files = [("evacuate.yaml", playbook), ("evacuate.test.yaml", TEST)]
    files += [(f"beside-{number}.yaml", text) for number, text in enumerate(beside)]
    (found,) = suites(load_bundle(files).raise_problems())
    return found


def case_of(expect: str | dict[str, Any], **given: Any) -> Case:
    wanted = YAML(typ="safe").load(expect) if isinstance(expect, str) else expect
    return Case.model_validate({"name": "one", "event": EVENT, "expect": wanted, **given})


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    made = Stage(action_registry())
    yield made
    made.close()


@pytest.fixture
def play(stage: Stage) -> Callable[..., Ending]:
    """Play a case; its keywords are what is given."""

    def run(playbook: str = PLAYBOOK, **given: Any) -> Ending:
        return stage.play(suite_of(playbook), case_of(WELL, **given))

    return run


@pytest.fixture
def differ(stage: Stage) -> Callable[..., list[str]]:
    """Return the lines that differ between what is expected and what comes."""

    def run(expect: str | dict[str, Any], playbook: str = PLAYBOOK, **given: Any) -> list[str]:
        case = case_of(expect, **given)
        lines = difference(case.expect, stage.play(suite_of(playbook), case))
        return [f"{mark} {text.strip()}" for mark, text in lines if mark != " "]

    return run
