"""`drill.start` before anything runs: which drills it may name."""

from __future__ import annotations

import pytest

from chaos.drills.actions import register
from chaos.drills.starting import StartDrill
from controlplane.actions.validate import check_bundle
from controlplane.kernel.registry import Registry
from controlplane.model.action import ActionRegistry
from controlplane.model.documents import load_bundle

PLAYBOOK = """
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {{name: weekly}}
spec:
  triggers: [{{type: schedule, cron: "0 10 * * 2", timeZone: UTC}}]
  inputs: {{which: {{type: string, default: zone-outage}}}}
  steps: [{{id: drill, uses: drill.start, with: {{drill: {drill}}}}}]
"""
DRILL = """
apiVersion: fleetward.dev/v1
kind: Drill
metadata: {name: lose-a-card}
spec:
  purpose: Lose a card.
  service: chat
  environment: lab
  hypothesis:
    title: Nobody notices.
    probes: [{name: served, type: effectiveShare, atLeast: 95%}]
  faults: [{name: gone, kind: gpu.xid, duration: 30s, parameters: {xid: 79}}]
  recovery: {within: 30s}
"""


def messages(drill: str, *documents: str) -> list[tuple[str, str, str | None]]:
    actions: ActionRegistry = Registry("action")
    register(actions)
    files = [("weekly.yaml", PLAYBOOK.format(drill=drill)), *(("drill.yaml", text) for text in documents)]
    found = check_bundle(load_bundle(files), actions)
    wrong = [problem for problem in found.problems if "drill" in problem.path]
    return [(problem.path, problem.message, problem.suggestion) for problem in wrong]


@pytest.mark.parametrize("drill", ["zone-outage", "lose-a-card", '"{{ inputs.which }}"'])
def test_it_may_name_what_is_shipped_what_is_written_and_what_is_known_later(drill: str) -> None:
    assert messages(drill, DRILL) == []


def test_a_drill_that_does_not_exist_is_found_where_it_is_named() -> None:
    ((path, message, suggestion),) = messages("lose-a-cart", DRILL)
    assert (path, message) == ("spec.steps[0].with.drill", "there is no Drill `lose-a-cart`")
    assert "lose-a-card" in str(suggestion)


def test_alone_a_playbook_may_name_a_drill_of_another_file() -> None:
    assert messages("lose-a-cart") == []


def test_a_name_of_another_shape_is_told_once_and_breaks_nothing() -> None:
    ((path, message, _),) = messages("[lose-a-card]", DRILL)
    assert (path, "string" in message) == ("spec.steps[0].with.drill", True)


def test_only_drills_are_shipped_with_it() -> None:
    assert "zone-outage" in StartDrill().shipped("Drill")
    assert list(StartDrill().shipped("Playbook")) == []
