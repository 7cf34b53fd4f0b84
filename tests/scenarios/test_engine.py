"""Runs from start to end on a virtual clock: what they do, and what they leave in the rows."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.kernel.errors import Ambiguous, Refused, Unavailable
from controlplane.model.action import ActionContext, Dimension, Touch, UndoResult, UndoStatus
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.states import RunState, StepState
from tests.support.rig import ZONE_A, Rig, Scripted, ScriptParameters, write

SHIFT = {"id": "shift", "uses": "traffic.shift", "with": {"zone": "zone-a", "weight": 0}}


def test_a_run_executes_its_steps_in_order_and_succeeds(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"), Scripted("second"))
    run = rig.start(
        {"id": "one", "uses": "first", "with": {"value": 20}},
        {"id": "two", "uses": "second", "with": {"value": "{{ steps.one.outputs.value + 1 }}"}},
    )
    ended = rig.finish(run)
    assert ended.state == RunState.SUCCEEDED
    assert rig.steps(run)["two"].outputs == {"value": 21}
    assert ended.lease_owner is None
    assert ended.due_at is None


def test_a_shift_moves_the_weight_and_claims_the_zone(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = rig.start({**SHIFT, "with": {"zone": "zone-a", "weight": 0, "over": "3s"}})
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert rig.weights() == {"zone-a": 0, "zone-b": 100, "zone-c": 100}
    assert rig.out_of_service() == {"chat/local/zone-a"}
    assert [(view.before, view.applied, view.status) for view in rig.undo(run)] == [(100, 0, UndoStatus.KEPT)]
