"""Taking back what an ended run did: only what still stands as it left it, and never into harm."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.act.retry import retry_run
from controlplane.act.take_back import undo_run
from controlplane.kernel.errors import Conflict, Unavailable
from controlplane.model.action import Dimension, UndoResult, UndoStatus
from controlplane.model.records import Run
from controlplane.model.states import RunState
from tests.support.rig import Crash, Fuse, Rig
from tests.support.scripted import ESCALATE, SHIFT, Scripted, knob, step, waiting

BACK = {"id": "back", "uses": "traffic.shift", "with": {"zone": "zone-a", "weight": 100}}


def undo(rig: Rig, run: Run, reason: str = "") -> Run:
    with rig.database.transaction() as tx:
        return undo_run(tx, run.id, by="ada", reason=reason, wake=rig.woken.append)


def shifted(rig: Rig, **more: Any) -> Run:
    """Return a run that took zone-a out of traffic, and succeeded."""
    run = rig.finish(rig.start(SHIFT, **more))
    assert (run.state, rig.weights()["zone-a"]) == (RunState.SUCCEEDED, 0)
    return run


def test_what_a_successful_run_did_is_taken_back_by_a_run_of_its_own(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = shifted(rig)
    made = undo(rig, run, "it was the switch")
    assert (made.undo_of, made.trigger, made.started_by) == (run.id, "undo", "ada")
    ended = rig.finish(made)
    assert (ended.state, ended.result) == (RunState.SUCCEEDED, {"undo": {"undone": 1}})
    assert rig.weights()["zone-a"] == 100
    assert rig.out_of_service() == set()
    assert rig.run(run) == run
    view = rig.undo(run)[0]
    assert (view.status, view.detail) == (UndoStatus.UNDONE, f"zone-a is back at 100 (ada, {made.id})")
    assert rig.journal(made)[0].message == f"ada takes back 1 of what {run.id} did: it was the switch"
    assert [line.event for line in rig.journal(run)][-2:] == ["run.undoRequested", "undo.undone"]


def test_a_run_that_was_cancelled_without_undo_is_taken_back_newest_first(tmp_path: Path) -> None:
    undone: list[str] = []

    def restore(record: Any) -> UndoResult:
        undone.append(record.step)
        return UndoResult(UndoStatus.UNDONE)

    rig = Rig(tmp_path, knob(undo=restore), waiting(60.0))
    run = rig.start({**step("knob"), "id": "first"}, {**step("knob"), "id": "second"}, step("wait"))
    rig.settle()
    rig.cancel(run, undo=False)
    rig.finish(run)
    assert rig.finish(undo(rig, run)).state == RunState.SUCCEEDED
    assert undone == ["second", "first"]


def test_a_change_that_somebody_made_since_is_left_alone_and_said(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = shifted(rig)
    rig.platform.set_weights("chat", {"zone-a": 40}, expected_version=None, by=None)
    ended = rig.finish(undo(rig, run))
    assert (ended.state, rig.weights()["zone-a"]) == (RunState.FAILED, 40)
    assert "1 of 1 could not be taken back: foreign: somebody else has set zone-a to 40" in ended.reason
    assert rig.undo(run)[0].status == UndoStatus.FOREIGN
    with pytest.raises(Conflict, match=r"nothing of .* is left to take back: 1 foreign"):
        undo(rig, run)


def test_users_are_not_sent_back_into_harm_until_the_canary_is_good(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = shifted(rig, **ESCALATE)
    rig.signals.canary = False
    ended = rig.finish(undo(rig, run))
    assert (ended.state, ended.result["undo"]) == (RunState.FAILED, {"withheld": 1})
    assert (rig.weights()["zone-a"], rig.undo(run)[0].status) == (0, UndoStatus.WITHHELD)
    assert [sent[1] for sent in rig.outbox.sent] == ["oncall"]
    assert rig.out_of_service() == {"chat/local/zone-a"}
    rig.signals.canary = True
    assert rig.finish(undo(rig, run)).state == RunState.SUCCEEDED
    assert rig.weights()["zone-a"] == 100


def test_a_halt_holds_it_and_asking_twice_is_asking_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = shifted(rig)
    halt = rig.halt()
    made = undo(rig, run)
    assert undo(rig, run).id == made.id
    rig.pass_time(10.0)
    assert (rig.run(made).waiting, rig.weights()["zone-a"]) == ("halted by ada: stop it", 0)
    with rig.database.transaction() as tx:
        tx.halts.lift(halt)
    assert rig.finish(made).state == RunState.SUCCEEDED


def test_an_undo_that_takes_a_zone_out_waits_for_the_blast_radius(tmp_path: Path) -> None:
    rig = Rig(tmp_path, policy={"limits": {"maxZones": 1}})
    rig.platform.set_weights("chat", {"zone-a": 0}, expected_version=None, by=None)
    run = rig.finish(rig.start(BACK))
    assert rig.weights()["zone-a"] == 100
    with rig.database.transaction() as tx:
        tx.ledger.claim("chat/local/zone-b", Dimension.TRAFFIC, "run-other")
    made = undo(rig, run)
    rig.pass_time(5.0)
    assert "waits for blast radius" in rig.run(made).waiting
    assert rig.weights()["zone-a"] == 100
    with rig.database.transaction() as tx:
        tx.ledger.release(holder="run-other")
    assert rig.finish(made).state == RunState.SUCCEEDED
    assert (rig.weights()["zone-a"], rig.out_of_service()) == (0, {"chat/local/zone-a"})


def test_what_cannot_be_taken_back_stays_and_the_rest_is_taken_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path, knob(reversible=False))
    run = rig.finish(rig.start(SHIFT, step("knob")))
    ended = rig.finish(undo(rig, run))
    assert (ended.state, ended.result) == (RunState.FAILED, {"undo": {"kept": 1, "undone": 1}})
    assert rig.weights()["zone-a"] == 100


def test_a_platform_that_is_down_is_tried_again(tmp_path: Path) -> None:
    answers: list[Exception] = [Unavailable("down"), Unavailable("down")]

    def restore(record: Any) -> UndoResult:
        if answers:
            raise answers.pop()
        return UndoResult(UndoStatus.UNDONE)

    rig = Rig(tmp_path, knob(undo=restore))
    run = rig.finish(rig.start(step("knob")))
    assert rig.finish(undo(rig, run)).state == RunState.SUCCEEDED


def test_a_run_that_was_taken_back_is_retried_from_its_beginning(tmp_path: Path) -> None:
    rig = Rig(tmp_path, waiting(60.0))
    run = rig.start(SHIFT, step("wait"))
    rig.settle()
    rig.cancel(run, undo=False)
    rig.finish(run)
    made = undo(rig, run)
    with pytest.raises(Conflict, match="is taking"), rig.database.transaction() as tx:
        retry_run(tx, run.id, by="ada")
    rig.finish(made)
    with rig.database.transaction() as tx:
        again = retry_run(tx, run.id, by="ada")
    assert [each.state for each in rig.steps(again).values()] == ["pending", "pending"]


def test_drills_active_runs_and_runs_that_did_nothing_are_not_taken_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"), waiting(60.0))
    idle, active = rig.finish(rig.start(step("first"))), rig.start(step("wait"))
    drill = rig.finish(rig.start(SHIFT, kind="drill"))
    for run, why in ((idle, "it changed nothing"), (active, "is running"), (drill, "is a drill")):
        with pytest.raises(Conflict, match=why):
            undo(rig, run)


@pytest.mark.timeout(120)
def test_a_crash_at_any_point_takes_nothing_back_twice(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    made = undo(rig, shifted(rig))
    rig.platform.fuse = rig.database.fuse = fuse = Fuse()
    rig.finish(made)
    for at, point in enumerate(fuse.passed, start=1):
        rig.renew()
        run = shifted(rig)
        made = undo(rig, run)
        rig.crash(at)
        with pytest.raises(Crash):
            rig.finish(made)
        rig.survive()
        assert rig.finish(made).state == RunState.SUCCEEDED, f"died {point}, point {at}"
        assert [write.after["zone-a"] for write in rig.platform.writes()] == [0, 100]
        assert rig.undo(run)[0].status == UndoStatus.UNDONE
