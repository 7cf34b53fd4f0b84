"""Runs that people must approve: asked with a preview, decided once, by somebody else, in time."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.act.approve import Answer, decide_approval, waiting_approval
from controlplane.kernel.errors import Conflict, NotAllowed
from controlplane.model.action import Dimension
from controlplane.model.approval import ApprovalRecord
from controlplane.model.identity import Role
from controlplane.model.records import Run
from controlplane.model.states import RunState, StepState
from tests.support.rig import Crash, Fuse, Rig
from tests.support.scripted import SHIFT, Scripted, step

ASK: dict[str, Any] = {"approval": {"roles": ["approver"], "timeout": "5m"}}
REQUEST = {"id": "ask", "uses": "approval.request", "with": {"text": "go on?", "timeout": "1m"}}


def decide(
    rig: Rig, run: Run, answer: Answer, by: str = "bob", role: Role = Role.APPROVER, comment: str = ""
) -> ApprovalRecord:
    with rig.database.transaction() as tx:
        asked = waiting_approval(tx, run.id)
        return decide_approval(tx, asked, answer, by=by, role=role, comment=comment, wake=rig.woken.append)


def asked(rig: Rig, run: Run) -> ApprovalRecord:
    with rig.database.reading() as tx:
        (found,) = tx.approvals.list(run=run.id)
        return found


def started(rig: Rig, *steps: dict[str, Any], **more: Any) -> Run:
    run = rig.start(*(steps or (SHIFT,)), **{**ASK, "started_by": "cli:ada", **more})
    rig.settle()
    return run


def test_a_run_waits_with_a_preview_of_what_it_would_touch(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("late"), policy={"limits": {"maxZones": 1}})
    late = step("late", **{"with": {"value": "{{ steps.shift.outputs.weight }}"}})
    run = started(rig, SHIFT, late)
    waiting, approval = rig.run(run), asked(rig, run)
    assert waiting.state == RunState.QUEUED
    assert (
        waiting.waiting
        == f"waits for approval by approver until {approval.expires_at:%H:%M:%S} ({approval.id})"
    )
    shift, unknown = approval.preview["steps"]
    assert shift["touches"] == [{"target": "chat/local/zone-a", "dimension": "traffic", "returns": False}]
    assert shift["changes"] == [{"target": "chat/local/zone-a", "field": "weight", "before": 100, "after": 0}]
    assert (unknown["outlook"], unknown["dependsOn"]) == ("depends", ["step shift"])
    assert approval.preview["blastRadius"]["verdict"] == "allow"
    assert rig.platform.writes() == []


def test_approved_it_starts_at_once_and_says_who_let_it(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = started(rig)
    decide(rig, run, "approved", comment="looks right")
    assert rig.finish(run, seconds=2).state == RunState.SUCCEEDED
    assert rig.weights()["zone-a"] == 0
    line = next(line for line in rig.journal(run) if line.event == "approval.approved")
    assert (line.message, line.data["by"]) == ("approved by bob: looks right", "bob")
    with rig.database.reading() as tx:
        decision = tx.decisions.list(run=run.id)[0]
        told = {(event.type, event.ref) for event in tx.events.after(0)}
    assert (decision.outcome, decision.guards[-1].guard) == ("run", "approval")
    assert ("approval", asked(rig, run).id) in told


def test_rejected_it_is_cancelled_and_has_done_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = started(rig)
    decide(rig, run, "rejected", comment="not now")
    ended = rig.finish(run, seconds=2)
    assert (ended.state, ended.reason) == (RunState.CANCELLED, "rejected by bob: not now")
    assert rig.platform.writes() == []


@pytest.mark.parametrize(("wish", "state"), [("deny", RunState.CANCELLED), ("allow", RunState.SUCCEEDED)])
def test_nobody_deciding_in_time_is_what_the_playbook_says(
    tmp_path: Path, wish: str, state: RunState
) -> None:
    rig = Rig(tmp_path)
    run = started(rig, approval={"timeout": "1m", "onTimeout": wish})
    rig.pass_time(59.0)
    assert rig.run(run).state == RunState.QUEUED
    assert rig.finish(run, seconds=3).state == state
    assert asked(rig, run).decided_by == "timeout"


def test_a_decision_that_comes_too_late_is_refused_whether_or_not_a_worker_noticed(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = started(rig, approval={"timeout": "1m"})
    rig.clock.advance(60.0)
    with pytest.raises(Conflict, match="the time to decide"):
        decide(rig, run, "approved")
    rig.finish(run, seconds=3)
    with pytest.raises(Conflict, match="was rejected by timeout"):
        decide(rig, run, "approved")


@pytest.mark.parametrize("by", ["ada", "cli:ada"])
def test_whoever_started_it_may_not_approve_it_and_may_reject_it(tmp_path: Path, by: str) -> None:
    rig = Rig(tmp_path)
    run = started(rig)
    with pytest.raises(NotAllowed, match="somebody else must approve it"):
        decide(rig, run, "approved", by=by, role=Role.ADMIN)
    assert asked(rig, run).decision is None
    decide(rig, run, "rejected", by=by)
    assert rig.finish(run, seconds=2).state == RunState.CANCELLED


def test_only_a_role_that_is_asked_decides(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = started(rig)
    for role in (Role.VIEWER, Role.OPERATOR):
        with pytest.raises(NotAllowed):
            decide(rig, run, "approved", role=role)
    decide(rig, run, "approved", role=Role.ADMIN)
    assert rig.finish(run, seconds=2).state == RunState.SUCCEEDED


def test_of_two_who_decide_one_is_first_and_saying_it_again_changes_nothing(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = started(rig)
    first = decide(rig, run, "approved")
    with pytest.raises(Conflict, match="was approved by bob"):
        decide(rig, run, "rejected", by="eve")
    assert decide(rig, run, "approved") == first
    rig.finish(run)
    assert rig.events(run).count("approval.approved") == 1


def test_the_write_itself_lets_one_through(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    seen = asked(rig, started(rig))
    with rig.database.transaction() as tx:
        assert tx.approvals.decide(seen, "approved", "bob")
    with rig.database.transaction() as tx:
        assert not tx.approvals.decide(seen, "rejected", "eve")
        assert tx.approvals.get(seen.id).decided_by == "bob"


@pytest.mark.parametrize(
    ("when", "waits"),
    [("limits.healthyAfter < 0.6", True), ("limits.healthyAfter < 0.4", False), ("limits.none < 1", True)],
)
def test_people_are_asked_when_the_condition_says_so_or_cannot_be_told(
    tmp_path: Path, when: str, waits: bool
) -> None:
    rig = Rig(tmp_path)
    run = started(rig, approval={"when": when}, scope={"limits": {"healthyAfter": 0.5}})
    assert (rig.run(run).state == RunState.QUEUED) is waits


def test_what_was_approved_is_judged_again_when_it_starts(tmp_path: Path) -> None:
    rig = Rig(tmp_path, policy={"limits": {"maxZones": 1}})
    run = started(rig)
    with rig.database.transaction() as tx:
        tx.ledger.claim("chat/local/zone-b", Dimension.TRAFFIC, "run-other")
    decide(rig, run, "approved")
    rig.pass_time(5.0)
    assert "waits for blast radius" in rig.run(run).waiting
    assert rig.platform.writes() == []


def test_a_halt_holds_an_approved_run_and_a_cancelled_one_asks_nobody_any_more(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = started(rig)
    rig.halt()
    decide(rig, run, "approved")
    rig.pass_time(3.0)
    assert rig.run(run).waiting == "halted by ada: stop it"
    other = rig.start(SHIFT, approval={}, target="chat/local/zone-b")
    rig.cancel(run)
    rig.cancel(other)
    rig.finish(run)
    rig.finish(other)
    with rig.database.reading() as tx:
        assert tx.approvals.list(waiting=True) == []


# ── in the middle of a playbook ────────────────────────────────────────────────────────────────────────────


def test_a_step_asks_and_goes_on_with_what_was_said(tmp_path: Path) -> None:
    last = Scripted("last")
    rig = Rig(tmp_path, last)
    named = {"with": {"value": "{{ steps.ask.outputs.by }}"}}
    run = rig.start(REQUEST, step("last", **named), started_by="ada")
    rig.settle()
    assert rig.steps(run)["ask"].state == StepState.WAITING
    with pytest.raises(NotAllowed):
        decide(rig, run, "approved", by="ada")
    decide(rig, run, "approved")
    assert rig.finish(run, seconds=2).state == RunState.SUCCEEDED
    assert rig.steps(run)["last"].outputs == {"value": "bob"}


def test_a_rejected_step_fails_and_what_was_done_is_taken_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = rig.start(SHIFT, REQUEST)
    rig.settle()
    assert rig.weights()["zone-a"] == 0
    decide(rig, run, "rejected", comment="no")
    ended = rig.finish(run, seconds=5)
    assert (ended.state, rig.weights()["zone-a"]) == (RunState.FAILED, 100)
    assert "rejected by bob: no" in ended.reason


@pytest.mark.parametrize(("wish", "state"), [("deny", RunState.FAILED), ("allow", RunState.SUCCEEDED)])
def test_a_step_that_nobody_answers_ends_in_time(tmp_path: Path, wish: str, state: RunState) -> None:
    rig = Rig(tmp_path)
    run = rig.start({**REQUEST, "with": {"text": "go on?", "timeout": "1m", "onTimeout": wish}})
    rig.settle()
    assert rig.finish(run, seconds=63).state == state


@pytest.mark.timeout(120)
def test_a_crash_at_any_point_asks_once_and_starts_once(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = started(rig)
    decide(rig, run, "approved")
    rig.platform.fuse = rig.database.fuse = fuse = Fuse()
    rig.finish(run)
    for at, point in enumerate(fuse.passed, start=1):
        rig.renew()
        run = started(rig)
        decide(rig, run, "approved")
        rig.crash(at)
        with pytest.raises(Crash):
            rig.finish(run)
        rig.survive()
        assert rig.finish(run).state == RunState.SUCCEEDED, f"died {point}, point {at}"
        assert rig.events(run).count("approval.requested") == 1
        assert len(rig.platform.writes()) == 1


EACH = {"items": ["a", "b"], "as": "who"}


@pytest.mark.parametrize(
    ("steps", "more"),
    [
        ([SHIFT], ASK),
        ([SHIFT, REQUEST], {}),
        ([{**REQUEST, "forEach": EACH}, SHIFT], {}),
        ([{**REQUEST, "needs": []}, {**SHIFT, "needs": []}], {}),
    ],
    ids=["before-the-run", "in-a-step", "in-a-loop", "beside-another-step"],
)
def test_a_decision_at_any_point_is_seen_at_once(
    tmp_path: Path, steps: list[dict[str, Any]], more: dict[str, Any]
) -> None:
    """Also when a worker has just looked, and is about to write down that nobody has decided."""
    rig = Rig(tmp_path)
    fuse = Fuse()
    rig.arm(fuse)
    run = rig.start(*steps, **more)
    rig.settle()
    rig.arm(None)
    see_through(rig, run)
    early = 0
    for at, point in enumerate(fuse.passed, start=1):
        if point == "before a commit":  # whoever decides waits for it
            continue
        rig.renew()
        decided: list[str] = []
        rig.arm(Fuse(at, lambda _, decided=decided: decided.extend(approve_all(rig))))  # type: ignore[misc]
        run = rig.start(*steps, **more)
        rig.settle()
        early += bool(decided)
        rig.arm(None)
        assert see_through(rig, run) == RunState.SUCCEEDED, f"decided {point}, point {at}"
    assert early > 0


def see_through(rig: Rig, run: Run) -> RunState:
    """Say yes to what is asked still, and go on to the end, which must be near."""
    for _ in range(2):
        approve_all(rig)
        rig.settle()
    return rig.finish(run, seconds=1).state


def approve_all(rig: Rig) -> list[str]:
    """Say yes to everything that is asked."""
    with rig.database.transaction() as tx:
        waiting = [each.id for each in tx.approvals.list(waiting=True)]
        for each in waiting:
            decide_approval(tx, each, "approved", by="bob", role=Role.APPROVER, wake=rig.woken.append)
    return waiting
