"""What is given reaches the run: results by script, signals over time, what others do; time is virtual."""

from collections.abc import Callable

import pytest

from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.model.states import RunState, StepState
from controlplane.rehearsal.compare import explanation
from controlplane.rehearsal.runner import Ending
from controlplane.rehearsal.suite import Suite
from tests.unit.controlplane.rehearsal.conftest import PLAYBOOK, case_of, suite_of

Play = Callable[..., Ending]

SERVICE = """
apiVersion: fleetward.dev/v1
kind: Service
metadata: {name: chat}
spec: {model: m, cluster: eu, zones: [{name: north}, {name: south}]}
"""
POLICY = """
apiVersion: fleetward.dev/v1
kind: Policy
metadata: {name: ours}
spec: {mode: observe}
"""


def state_of(ending: Ending) -> RunState:
    assert ending.run is not None
    return ending.run.state


def steps_of(ending: Ending) -> dict[str, StepState]:
    return {step.id: step.state for step in ending.steps}


def test_the_real_actions_run_on_the_fleet_in_memory(play: Play) -> None:
    ending = play()
    assert state_of(ending) is RunState.SUCCEEDED
    assert ending.weights == {"zone-a": 0, "zone-b": 100, "zone-c": 100}
    assert [record.after for record in ending.writes] == [ending.weights]
    assert ending.sent != {}


def test_scripted_results_come_in_turn_and_the_last_one_stays(play: Play) -> None:
    calls = [{"again": "10s", "message": "not yet"}, {"done": {"weight": 7}}]
    ending = play(steps={"shift": calls})
    assert next(step.outputs for step in ending.steps if step.id == "shift") == {"weight": 7}
    assert ending.weights["zone-a"] == 100
    assert ending.writes == []
    assert ending.seconds >= 10


def test_a_scripted_failure_is_retried_by_its_kind_as_a_real_one(play: Play) -> None:
    retrying = PLAYBOOK.replace("id: shift,", "id: shift, retry: {limit: 2},")
    flaky = [{"failed": "transient"}, {"failed": "transient"}, {"real": True}]
    assert state_of(play(retrying, steps={"shift": flaky})) is RunState.SUCCEEDED
    for kind in ("permanent", "ambiguous"):
        ending = play(retrying, steps={"tell": {"failed": kind}})
        assert steps_of(ending) == {"tell": StepState.FAILED, "shift": StepState.CANCELLED}


def test_an_ambiguous_step_by_script_is_not_tried_blindly(play: Play) -> None:
    ending = play(steps={"shift": [{"failed": "ambiguous", "message": "no answer"}, {"done": {}}]})
    assert state_of(ending) in {RunState.SUCCEEDED, RunState.FAILED}
    assert ending.weights["zone-a"] == 100


@pytest.mark.parametrize(
    ("signals", "state"),
    [
        ({"trigger": [{"after": "0s", "is": "bad"}, {"after": "1s", "is": "good"}]}, RunState.SUCCEEDED),
        ({"trigger": "cured"}, RunState.SUCCEEDED),
        ({"trigger": "bad"}, RunState.FAILED),
        ({"trigger": "unknown"}, RunState.INCONCLUSIVE),
        ({"trigger": "bad", "clients": "good"}, RunState.SUCCEEDED),  # the zone takes no traffic
        ({"trigger": [{"after": "0s", "is": "bad"}, {"after": "20s", "is": "good"}]}, RunState.SUCCEEDED),
        ({"trigger": [{"after": "0s", "is": "bad"}, {"after": "50s", "is": "good"}]}, RunState.FAILED),
    ],
)
def test_the_verification_follows_the_signal(play: Play, signals: object, state: RunState) -> None:
    assert state_of(play(signals=signals)) is state


def test_a_signal_that_is_good_from_the_start_is_calm_and_nothing_is_started(play: Play) -> None:
    ending = play(signals={"trigger": "good"})
    assert (ending.run, ending.decision.outcome if ending.decision else None) == (None, "queued")


def test_an_undo_is_withheld_from_a_zone_that_is_not_well(play: Play) -> None:
    bad = {"signals": {"trigger": "bad", "clients": "bad"}}
    assert play(**bad).weights["zone-a"] == 100
    assert play(**bad, canaries={"chat/local/zone-a": "bad"}).weights["zone-a"] == 0
    assert play(**bad, canaries={"chat/local/zone-b": "bad"}).weights["zone-a"] == 100


def test_what_others_do_happens_at_its_time(play: Play) -> None:
    slow = {"steps": {"tell": [{"again": "10s"}, {"done": {}}]}}
    cancelled = play(**slow, meanwhile=[{"after": "5s", "cancel": "no"}])
    assert state_of(cancelled) is RunState.CANCELLED
    assert cancelled.seconds == pytest.approx(5, abs=1)
    halted = play(**slow, meanwhile=[{"after": "5s", "halt": "wait"}], until="1m")
    assert steps_of(halted) == {"tell": StepState.SUCCEEDED, "shift": StepState.PENDING}
    resumed = play(**slow, meanwhile=[{"after": "5s", "halt": "wait"}, {"after": "40s", "resume": True}])
    assert state_of(resumed) is RunState.SUCCEEDED
    assert resumed.seconds > 40


def test_a_person_starts_it_with_inputs_and_the_guards_are_asked(play: Play) -> None:
    event = {"target": "chat/local/zone-b", "inputs": {"weight": 40}}
    ending = play(event=event)
    assert ending.weights["zone-b"] == 40
    assert ending.decision is not None
    assert (ending.decision.trigger, ending.decision.outcome) == ("manual", "run")
    refused = play(event=event, halts=["works"])
    assert refused.run is None
    assert refused.decision is not None
    assert refused.decision.outcome == "refused"
    with pytest.raises(InvalidInput, match="unknown input `wieght`"):
        play(event={**event, "inputs": {"wieght": 1}})


def test_the_service_and_the_policy_beside_the_playbook_are_used(stage_play: Callable[..., Ending]) -> None:
    event = {"target": "chat/eu/north", "signal": "slo:chat-success"}
    suite = suite_of(PLAYBOOK, SERVICE, POLICY)
    ending = stage_play(suite, event=event)
    assert ending.weights == {"north": 100, "south": 100}
    assert ending.decision is not None
    assert ending.decision.outcome == "observed"
    auto = stage_play(suite, event=event, policy={"mode": "auto"})
    assert auto.weights == {"north": 0, "south": 100}


def test_names_that_the_fleet_has_not_are_refused_with_the_nearest(play: Play) -> None:
    with pytest.raises(InvalidInput, match="did you mean `chat/local/zone-a`"):
        play(event={"target": "chat/local/zone-aa"})
    with pytest.raises(NotFound, match="did you mean `node-a1`"):
        play(fleet={"down": ["node-a11"]})


def test_a_case_does_not_see_the_one_before_it(play: Play) -> None:
    assert [state_of(play()) for _ in range(2)] == [RunState.SUCCEEDED] * 2


@pytest.fixture
def stage_play(stage: object) -> Callable[..., Ending]:
    def run(suite: Suite, **given: object) -> Ending:
        return stage.play(suite, case_of("{decision: refused}", **given))  # type: ignore[attr-defined,no-any-return]

    return run


# ── what people answer ──────────────────────────────────────────────────────────────────────────────────────

ASKS = PLAYBOOK.replace("  steps:\n", "  approval: {roles: [approver], timeout: 1m}\n  steps:\n")
QUESTION = "    - {id: sure, uses: approval.request, with: {text: go on?, timeout: 1m}}\n"
ASKS_LATER = PLAYBOOK.replace("    - {id: shift", f"{QUESTION}    - {{id: shift")
IN_TIME = "nobody decided in time"


@pytest.mark.parametrize(
    ("answers", "state", "why"),
    [
        ([], RunState.SUCCEEDED, "proved"),
        ([{"approve": "approver"}], RunState.SUCCEEDED, "proved"),
        ([{"approve": "admin"}], RunState.SUCCEEDED, "proved"),
        ([{"reject": "approver", "comment": "no"}], RunState.CANCELLED, "rejected by somebody else: no"),
        ([{"nobody": True}], RunState.CANCELLED, IN_TIME),
        ([{"approve": "operator"}], RunState.CANCELLED, IN_TIME),
        ([{"approve": "operator"}, {"after": "59s", "approve": "approver"}], RunState.SUCCEEDED, "proved"),
        ([{"after": "60s", "approve": "approver"}], RunState.CANCELLED, IN_TIME),
        ([{"step": "shift", "reject": "admin"}], RunState.SUCCEEDED, "proved"),
    ],
)
def test_a_run_that_asks_is_answered_as_the_case_says(
    play: Play, answers: list[object], state: RunState, why: str
) -> None:
    ending = play(ASKS, answers=answers)
    assert ending.run is not None
    assert (ending.run.state, why in ending.run.reason) == (state, True)
    assert (ending.weights["zone-a"] == 0) is (state is RunState.SUCCEEDED)


def test_a_step_that_asks_waits_for_its_own_answer(play: Play) -> None:
    ending = play(ASKS_LATER, answers=[{"step": "sure", "after": "30s", "reject": "approver"}])
    assert state_of(ending) is RunState.FAILED
    assert steps_of(ending) == {
        "tell": StepState.SUCCEEDED,
        "sure": StepState.FAILED,
        "shift": StepState.CANCELLED,
    }
    assert ending.seconds >= 30
    assert state_of(play(ASKS_LATER)) is RunState.SUCCEEDED


def test_whoever_starts_it_may_not_approve_it_in_a_test_either_and_the_report_says_so(play: Play) -> None:
    event = {"target": "chat/local/zone-b"}
    ending = play(ASKS, event=event, answers=[{"approve": "admin", "by": "somebody"}])
    assert state_of(ending) is RunState.CANCELLED
    assert explanation(ending).endswith("and somebody else must approve it")
