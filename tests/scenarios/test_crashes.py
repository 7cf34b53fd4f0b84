"""A process dies at every commit and at every effect: the run ends as if nothing had happened.

The judge is the platform's own write log, not the journal: each effect is in it once.
"""

from pathlib import Path
from typing import Any

import pytest

from controlplane.model.outcome import Failed, FailureKind
from controlplane.model.records import Run
from controlplane.model.states import RunState
from tests.support.rig import Crash, Fuse, Rig
from tests.support.scripted import Scripted

STEPS: list[dict[str, Any]] = [
    {"id": "look", "uses": "look", "with": {"value": 7}},
    {"id": "shift", "uses": "traffic.shift", "with": {"zone": "zone-a", "weight": 0, "over": "2s"}},
    {"id": "restart", "uses": "replica.restart", "with": {"replica": "replica-a1-0"}},
]
"""A step without effects, a ramp of three effects, and one that is not idempotent."""

FAILING = [*STEPS[:2], {"id": "give-up", "uses": "give-up"}]


def _rig(folder: Path) -> Rig:
    def give_up(parameters: Any, context: Any) -> Failed:
        return Failed(FailureKind.PERMANENT, "it is no use")

    return Rig(folder, Scripted("look"), Scripted("give-up", give_up))


def _outcome(rig: Rig, run: Run) -> dict[str, Any]:
    """Everything that must not depend on crashes."""
    writes = rig.platform.writes()
    return {
        "state": rig.run(run).state,
        "writes": [(write.op, write.target, write.before, write.after) for write in writes],
        "keys": [write.by.key.removeprefix(run.id) for write in writes if write.by],
        "weights": rig.weights(),
        "ledger": rig.out_of_service(),
        "steps": {id_: (step.state, step.outputs.get("weight")) for id_, step in rig.steps(run).items()},
        "undo": [(v.step, v.target, v.field, v.before, v.status) for v in rig.undo(run)],
    }


def _uncrashed(rig: Rig, steps: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Return how it ends without a crash, and all the points at which it could have died."""
    run = rig.start(*steps)
    rig.platform.fuse = rig.database.fuse = fuse = Fuse()
    rig.finish(run)
    return _outcome(rig, run), fuse.passed


def _crash(rig: Rig, run: Run, at: int) -> None:
    rig.crash(at)
    with pytest.raises(Crash):
        rig.finish(run)
    rig.survive()


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("steps", "end"), [(STEPS, RunState.SUCCEEDED), (FAILING, RunState.FAILED)])
def test_a_crash_at_any_point_changes_nothing(
    tmp_path: Path, steps: list[dict[str, Any]], end: RunState
) -> None:
    rig = _rig(tmp_path)
    expected, points = _uncrashed(rig, steps)
    assert expected["state"] == end
    assert {"before a commit", "after a commit", "before an effect", "after an effect"} == set(points)
    for at, point in enumerate(points, start=1):
        rig.renew()
        run = rig.start(*steps)
        _crash(rig, run, at)
        rig.finish(run)
        assert _outcome(rig, run) == expected, f"died {point}, point {at}: {rig.events(run)}"


@pytest.mark.timeout(300)
def test_a_second_crash_soon_after_the_first_changes_nothing_either(tmp_path: Path) -> None:
    rig = _rig(tmp_path)
    expected, points = _uncrashed(rig, STEPS)
    for at in range(2, len(points) - 6, 5):
        rig.renew()
        run = rig.start(*STEPS)
        _crash(rig, run, at)
        _crash(rig, run, 4)
        rig.finish(run)
        assert _outcome(rig, run) == expected, f"died at {at}, and 4 points later: {rig.events(run)}"
