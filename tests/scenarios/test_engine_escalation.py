"""The ladder after a run that did not help: which rung is tried, which is not, and who is told."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.act.plan import RunPlan
from controlplane.kernel.errors import Unavailable
from controlplane.model.action import UndoStatus
from controlplane.model.outcome import Again, Failed, FailureKind
from controlplane.model.playbook import Playbook
from controlplane.model.records import Run
from controlplane.model.states import RunState, StepState
from controlplane.store.runs import RunQuery
from tests.support.rig import Rig
from tests.support.scripted import Scripted, failing, knob, step

TELL = [{"notify": "oncall"}]
LATER = Again(5.0, {"waited": True})
NO_USE = Failed(FailureKind.PERMANENT, "no use")


def playbook(name: str, uses: str, escalate: Any = (), **spec: Any) -> Playbook:
    """A playbook of one step."""
    spec = {"steps": [{"id": "only", "uses": uses}], "onFailure": {"escalate": list(escalate)}, **spec}
    return Playbook.model_validate({"kind": "Playbook", "metadata": {"name": name}, "spec": spec})


def rig_with(folder: Path, *playbooks: Playbook, policy: Any = None) -> Rig:
    rig = Rig(folder, Scripted("good"), failing(), knob(), policy=policy)
    with rig.database.transaction() as tx:
        for each in playbooks:
            tx.documents.put(each)
    return rig


def climb(rig: Rig, escalate: Any, *steps: Any, **more: Any) -> Run:
    """Run something that fails, and everything that follows from it."""
    run = rig.start(*(steps or [step("fail")]), onFailure={"escalate": escalate}, **more)
    rig.finish(run)
    for _ in range(5):
        for other in followers(rig):
            rig.finish(other)
    return rig.run(run)


def followers(rig: Rig) -> list[Run]:
    with rig.database.reading() as tx:
        return tx.runs.list(RunQuery(trigger="escalation"))[::-1]


def told(rig: Rig) -> list[str | None]:
    return [sent[1] for sent in rig.outbox.sent]


def test_another_playbook_follows_after_the_undo_and_when_it_helps_nobody_is_told(tmp_path: Path) -> None:
    rig = rig_with(tmp_path, playbook("shed", "good"))
    run = climb(rig, [{"playbook": "shed"}, *TELL], step("knob"), step("fail"))
    (shed,) = followers(rig)
    assert (run.state, shed.state) == (RunState.FAILED, RunState.SUCCEEDED)
    assert (shed.cause, shed.started_by, shed.target, shed.signal) == (run.id, run.id, run.target, run.signal)
    assert [view.status for view in rig.undo(run)] == [UndoStatus.UNDONE]
    assert rig.events(run).index("undo.undone") < rig.events(run).index("run.escalated")
    assert run.result["escalated"] == [{"playbook": "shed", "outcome": "started", "run": shed.id}]
    assert rig.events(run)[-1] == "run.escalationEnded"
    assert told(rig) == []


def test_a_rung_that_does_not_help_gives_way_to_the_next(tmp_path: Path) -> None:
    rig = rig_with(tmp_path, playbook("one", "fail"), playbook("two", "fail"))
    run = climb(rig, [{"playbook": "one"}, {"playbook": "two"}, *TELL])
    assert [(each.name, each.state) for each in followers(rig)] == [
        ("one", RunState.FAILED),
        ("two", RunState.FAILED),
    ]
    assert [each["outcome"] for each in run.result["escalated"]] == ["started", "started", "told"]
    text = rig.outbox.sent[0][0].text
    assert [line.partition(" ")[0] for line in text.splitlines()] == ["test", "one", "two"]


def test_the_ladder_of_a_rung_is_climbed_before_that_of_its_cause_goes_on(tmp_path: Path) -> None:
    rig = rig_with(
        tmp_path, playbook("one", "fail", [{"notify": "team"}, {"playbook": "two"}]), playbook("two", "fail")
    )
    climb(rig, [{"playbook": "one"}, *TELL])
    assert [each.name for each in followers(rig)] == ["one", "two"]
    assert told(rig) == ["team", "oncall"]


def test_playbooks_that_escalate_to_each_other_end(tmp_path: Path) -> None:
    rig = rig_with(
        tmp_path,
        playbook("one", "fail", [{"playbook": "two"}]),
        playbook("two", "fail", [{"playbook": "one"}]),
    )
    climb(rig, [{"playbook": "one"}, *TELL])
    assert [each.name for each in followers(rig)] == ["one", "two"]
    assert told(rig) == ["oncall"]


@pytest.mark.parametrize(
    ("spec", "policy", "why"),
    [
        ({"mode": "observe"}, None, "mode observe"),
        ({"when": "incident.zone == 'zone-b'"}, None, "is false"),
        ({"inputs": {"x": {"type": "number"}}}, None, "input `x` is missing"),
        ({"budget": {"maxRuns": 1, "window": "1h"}}, None, "1 of 1 runs within 1h are used"),
        ({"throttle": {"onceWithin": "10m"}}, None, "within 10m"),
    ],
)
def test_a_playbook_that_may_not_run_is_passed_over_with_the_reason(
    tmp_path: Path, spec: dict[str, Any], policy: Any, why: str
) -> None:
    rig = rig_with(tmp_path, playbook("shed", "good", **spec), policy=policy)
    if "budget" in spec or "throttle" in spec:
        rig.finish(rig.start(step("good"), name="shed"))
    run = climb(rig, [{"playbook": "shed"}, {"playbook": "no-such"}, *TELL])
    assert followers(rig) == []
    outcomes = [each["outcome"] for each in run.result["escalated"]]
    assert why in outcomes[0]
    assert outcomes[1:] == ["not started: no playbook `no-such` is in force", "told"]


def test_in_mode_approve_people_are_asked_before_the_next_playbook_starts(tmp_path: Path) -> None:
    rig = rig_with(tmp_path, playbook("shed", "good"), policy={"mode": "approve"})
    rig.finish(rig.start(step("fail"), onFailure={"escalate": [{"playbook": "shed"}]}))
    rig.pass_time(5.0)
    (shed,) = followers(rig)
    assert (shed.state, rig.steps(shed)["only"].state) == (RunState.QUEUED, StepState.PENDING)


def test_while_a_halt_is_in_force_no_other_playbook_is_started(tmp_path: Path) -> None:
    rig = rig_with(tmp_path, playbook("shed", "good"))
    slow = Scripted("slow", lambda _, context: LATER if not context.state else NO_USE)
    rig.actions.add("slow", slow)
    run = rig.start(step("slow"), onFailure={"escalate": [{"playbook": "shed"}, *TELL]})
    rig.settle()
    rig.halt()
    ended = rig.finish(run)
    assert followers(rig) == []
    assert [each["outcome"] for each in ended.result["escalated"]] == [
        "not started: halt: halted by ada: stop it",
        "told",
    ]


def test_in_one_concurrency_group_the_next_rung_starts_since_the_first_run_is_over(tmp_path: Path) -> None:
    for conflict in ("queue", "skip", "replace"):
        group = {"concurrency": {"group": "service/chat", "onConflict": conflict}}
        folder = tmp_path / conflict
        folder.mkdir()
        rig = rig_with(folder, playbook("shed", "good", **group))
        run = climb(rig, [{"playbook": "shed"}], group="service/chat")
        assert (run.state, [each.state for each in followers(rig)]) == (RunState.FAILED, [RunState.SUCCEEDED])


def test_when_a_person_cancels_a_rung_the_ladder_ends(tmp_path: Path) -> None:
    rig = rig_with(tmp_path, playbook("shed", "good"))
    run = rig.start(step("fail"), onFailure={"escalate": [{"playbook": "shed"}, *TELL]})
    rig.executor.advance(run.id)
    (shed,) = followers(rig)
    rig.cancel(shed)
    assert rig.finish(shed).state == RunState.CANCELLED
    assert told(rig) == []


def test_what_was_told_is_told_once_however_often_it_is_tried(tmp_path: Path) -> None:
    rig = rig_with(tmp_path)
    rig.outbox.error = Unavailable("the pager is down")
    run = climb(rig, TELL)
    assert [each["outcome"] for each in run.result["escalated"]] == ["not told: the pager is down"]
    assert {sent[3] for sent in rig.outbox.sent} == {f"{run.id}/escalate/0"}


def test_inputs_of_a_rung_are_worked_out_from_the_run_that_failed(tmp_path: Path) -> None:
    spec = {"inputs": {"zone": {"type": "string"}}}
    rig = rig_with(tmp_path, playbook("shed", "good", **spec))
    climb(rig, [{"playbook": "shed", "inputs": {"zone": "{{ incident.zone }}"}}])
    assert [each.inputs for each in followers(rig)] == [{"zone": "zone-a"}]


def test_a_plan_of_notices_tells_every_channel(tmp_path: Path) -> None:
    rig = rig_with(tmp_path)
    plan = RunPlan.of_notices(["one", "two"])
    run = rig.start(
        *[each.model_dump(mode="json", by_alias=True) for each in plan.steps],
        inputs={"title": "stop", "text": "{{ now }}"},
    )
    assert rig.finish(run).state == RunState.SUCCEEDED
    assert [(sent[1], sent[0].text) for sent in rig.outbox.sent] == [
        ("one", "{{ now }}"),
        ("two", "{{ now }}"),
    ]
