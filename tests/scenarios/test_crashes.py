"""A process dies at every commit and at every effect: the run ends as if nothing had happened.

The judge is the platform's own write log, not the journal: each effect is in it once.
"""

from pathlib import Path
from typing import Any

import pytest

from controlplane.model.outcome import Failed, FailureKind
from controlplane.model.states import RunState
from tests.support.rig import Crash, Fuse, Rig, Scripted

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

    folder.mkdir(exist_ok=True)
    return Rig(folder, Scripted("look"), Scripted("give-up", give_up))


def _outcome(rig: Rig, run_id: str) -> dict[str, Any]:
    """Everything that must not depend on crashes."""
    run = rig.run(run_id)
    return {
        "state": run.state,
        "writes": [(write.op, write.target, write.before, write.after) for write in rig.platform.writes()],
        "keys": [write.by.key.removeprefix(run_id) for write in rig.platform.writes() if write.by],
        "weights": rig.weights(),
        "ledger": rig.out_of_service(),
        "steps": {id_: (step.state, step.outputs.get("weight")) for id_, step in rig.steps(run).items()},
        "undo": [(v.step, v.target, v.field, v.before, v.status) for v in rig.undo(run)],
    }


def _uncrashed(folder: Path, steps: list[dict[str, Any]]) -> tuple[dict[str, Any], list[str]]:
    """Return how it ends without a crash, and all the points at which it could have died."""
    rig = _rig(folder)
    run = rig.start(*steps)
    rig.platform.fuse = rig.database.fuse = fuse = Fuse()
    rig.finish(run)
    return _outcome(rig, run.id), fuse.passed


def _crashed(folder: Path, steps: list[dict[str, Any]], at: int) -> tuple[dict[str, Any], list[str]]:
    rig = _rig(folder)
    run = rig.start(*steps)
    rig.crash(at)
    with pytest.raises(Crash):
        rig.finish(run)
    rig.survive()
    rig.finish(run)
    return _outcome(rig, run.id), rig.events(run)


@pytest.mark.timeout(120)
@pytest.mark.parametrize(("steps", "end"), [(STEPS, RunState.SUCCEEDED), (FAILING, RunState.FAILED)])
def test_a_crash_at_any_point_changes_nothing(
    tmp_path: Path, steps: list[dict[str, Any]], end: RunState
) -> None:
    expected, points = _uncrashed(tmp_path / "whole", steps)
    assert expected["state"] == end
    assert {"before a commit", "after a commit", "before an effect", "after an effect"} == set(points)
    for at, point in enumerate(points, start=1):
        actual, events = _crashed(tmp_path / f"crash-{at}", steps, at)
        assert actual == expected, f"died {point}, point {at}: {events}"


@pytest.mark.timeout(120)
def test_a_second_crash_after_the_first_changes_nothing_either(tmp_path: Path) -> None:
    expected, points = _uncrashed(tmp_path / "whole", STEPS)
    for at in range(2, len(points), 5):
        rig = _rig(tmp_path / f"crash-{at}")
        run = rig.start(*STEPS)
        for _ in range(2):
            rig.crash(at)
            with pytest.raises(Crash):
                rig.finish(run)
            rig.survive()
        rig.finish(run)
        assert _outcome(rig, run.id) == expected
