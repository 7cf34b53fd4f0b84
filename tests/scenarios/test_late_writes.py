"""A worker that is stopped right before its write comes too late, however the run went on without it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.model.action import UndoStatus
from controlplane.model.records import Run
from controlplane.model.states import RunState
from controlplane.platforms.port import FENCE
from tests.support.rig import LEASE_OVER, Rig
from tests.support.scripted import SHIFT, failing, step

RESTART = {"id": "restart", "uses": "replica.restart", "with": {"replica": "replica-a1-0"}, "timeout": "10s"}


def stop_before_write(rig: Rig, number: int, meanwhile: Callable[[], object]) -> None:
    """Let the first worker be stopped before its ``number``-th write for longer than its lease."""
    left = [None] * number

    def come() -> None:
        left.pop()
        if not left:
            rig.platform.before_effect = None
            rig.clock.advance(LEASE_OVER)
            meanwhile()

    rig.platform.before_effect = come


def go_on(rig: Rig, run: Run) -> None:
    rig.finish(run, executor=rig.new_executor())


def test_a_run_that_was_cancelled_and_keeps_what_it_did_is_not_added_to(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = rig.start(SHIFT)

    def cancelled() -> None:
        rig.cancel(run, undo=False)
        go_on(rig, run)

    stop_before_write(rig, 1, cancelled)
    rig.executor.advance(run.id)
    assert rig.run(run).state == RunState.CANCELLED
    assert (rig.platform.writes(), rig.weights()["zone-a"]) == ([], 100)
    assert "fence.shown" in rig.events(run)


def test_a_run_that_gave_way_did_its_step_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path, failing())
    run = rig.start(SHIFT, step("fail"))

    def superseded() -> None:
        rig.supersede(run)
        go_on(rig, run)

    stop_before_write(rig, 1, superseded)
    rig.executor.advance(run.id)
    assert rig.run(run).state == RunState.SUPERSEDED
    (write,) = rig.platform.writes()
    assert write.by is not None
    assert write.by.fence == 2


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_step_whose_time_is_over_is_not_done_after_all(tmp_path: Path, goes_on: bool) -> None:
    rig = Rig(tmp_path)
    run = rig.start({**RESTART, "continueOnError": goes_on})
    stop_before_write(rig, 1, lambda: go_on(rig, run))
    rig.executor.advance(run.id)
    assert rig.run(run).state == (RunState.SUCCEEDED if goes_on else RunState.FAILED)
    assert rig.platform.writes() == []


def test_an_undo_that_is_withheld_by_now_is_not_made_after_all(tmp_path: Path) -> None:
    rig = Rig(tmp_path, failing())
    run = rig.start(SHIFT, step("fail"))

    def harm() -> None:
        rig.signals.canary = False
        go_on(rig, run)

    stop_before_write(rig, 2, harm)
    rig.executor.advance(run.id)
    assert rig.run(run).state == RunState.FAILED
    assert rig.weights()["zone-a"] == 0
    assert rig.undo(run)[0].status == UndoStatus.WITHHELD


@pytest.mark.parametrize(("times", "told"), [(2, "fence.shown"), (5, "fence.notShown")])
def test_a_platform_that_does_not_answer_is_told_later_and_not_for_ever(
    tmp_path: Path, times: int, told: str
) -> None:
    rig = Rig(tmp_path)
    run = rig.start(SHIFT)

    def cancelled() -> None:
        for _ in range(times):
            rig.platform.fail_next(FENCE, "before")
        rig.cancel(run, undo=False)
        rig.settle(rig.new_executor())
        assert "cannot keep back yet what a lost worker may still write" in rig.run(run).waiting
        go_on(rig, run)

    stop_before_write(rig, 1, cancelled)
    rig.executor.advance(run.id)
    events = rig.events(run)
    assert (events.count("retry"), events.count(told)) == (min(times, 4), 1)


def test_a_worker_that_was_not_lost_in_the_middle_shows_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path, failing())
    run = rig.start({**SHIFT, "with": {"zone": "zone-a", "weight": 0, "over": "3s"}}, step("fail"))
    rig.finish(run)
    assert rig.run(run).fence > 1
    assert "fence.shown" not in rig.events(run)
