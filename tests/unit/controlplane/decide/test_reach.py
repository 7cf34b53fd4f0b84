"""How far a playbook can reach: as far as the widest of its actions, and no author says otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.actions import register
from controlplane.decide.reach import reach_of
from controlplane.kernel.registry import Registry
from controlplane.model.action import ActionRegistry, Reach
from tests.unit.controlplane.decide.verdicts import playbook

TELL = {"id": "tell", "uses": "notify.send", "with": {"channel": "oncall", "title": "t"}}
SHED = {"id": "shed", "uses": "load.shed"}
RESTART = {"id": "restart", "uses": "replica.restart", "with": {"replica": "replica-a1-0"}}
UNKNOWN = {"id": "other", "uses": "somebody.elses"}


@pytest.mark.parametrize(
    ("steps", "reach"),
    [
        ([TELL], Reach.NONE),
        ([TELL, SHED], Reach.SERVING),
        ([SHED, RESTART, TELL], Reach.OUT),
        ([TELL, UNKNOWN], Reach.OUT),
    ],
)
def test_the_widest_step_counts(steps: list[dict[str, Any]], reach: Reach) -> None:
    actions: ActionRegistry = Registry("action")
    register(actions)
    assert reach_of(playbook(steps=steps), actions) is reach
