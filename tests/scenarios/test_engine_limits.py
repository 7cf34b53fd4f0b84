"""The blast radius is judged, and targets are claimed, in the transaction that starts a step."""

from pathlib import Path

from controlplane.model.action import Dimension, Reach, Touch
from controlplane.model.states import RunState
from controlplane.model.target import Target
from tests.support.rig import Rig
from tests.support.scripted import SHIFT, ZONE_A, Scripted, step


def out(*targets: str) -> list[Touch]:
    return [Touch(Target.parse(target), Dimension.CAPACITY) for target in targets]


def test_a_step_that_takes_too_much_is_refused_with_the_numbers(tmp_path: Path) -> None:
    action = Scripted("break", touches=out("chat/local/zone-a", "chat/local/zone-b"))
    rig = Rig(tmp_path, action, policy={"limits": {"maxZones": 1}})
    run = rig.start(step("break"))
    ended = rig.finish(run)
    assert ended.state == RunState.FAILED
    assert "2 of 3 zones" in ended.reason
    assert action.calls == []
    assert rig.out_of_service() == set()


def test_what_others_hold_makes_a_step_wait_and_not_fail(tmp_path: Path) -> None:
    action = Scripted("break", touches=out("chat/local/zone-a"))
    rig = Rig(tmp_path, action, policy={"limits": {"maxZones": 1}})
    with rig.database.transaction() as tx:
        tx.ledger.claim("chat/local/zone-b", Dimension.TRAFFIC, "run-other")
    run = rig.start(step("break"))
    rig.pass_time(10.0)
    assert action.calls == []
    assert "waits for blast radius" in rig.run(run).waiting
    with rig.database.transaction() as tx:
        assert len(tx.ledger.reconcile({Target("chat", "local", "zone-b")})) == 1
    assert rig.finish(run, seconds=5).state == RunState.SUCCEEDED


def test_a_step_that_waited_for_its_whole_time_fails_with_the_reason(tmp_path: Path) -> None:
    rig = Rig(
        tmp_path, Scripted("break", touches=out("chat/local/zone-a")), policy={"limits": {"maxZones": 1}}
    )
    with rig.database.transaction() as tx:
        tx.ledger.claim("chat/local/zone-b", Dimension.TRAFFIC, "run-other")
    ended = rig.finish(rig.start(step("break", timeout="20s")))
    assert ended.state == RunState.FAILED
    assert "could not start within 20s" in ended.reason


def test_a_fault_within_a_zone_and_the_failover_that_answers_it_are_one_zone(tmp_path: Path) -> None:
    rig = Rig(tmp_path, policy={"limits": {"maxZones": 1}})
    with rig.database.transaction() as tx:
        tx.ledger.claim(ZONE_A, Dimension.CAPACITY, "fault-1")
        tx.ledger.claim("chat/local/zone-a/node-a1", Dimension.CAPACITY, "fault-2")
    assert rig.finish(rig.start(SHIFT)).state == RunState.SUCCEEDED


def test_what_a_step_gives_back_is_released_whoever_took_it(tmp_path: Path) -> None:
    action = Scripted("return", touches=[Touch(ZONE_A, Dimension.TRAFFIC, returns=True)])
    rig = Rig(tmp_path, action)
    rig.finish(rig.start(SHIFT))
    assert rig.out_of_service() == {"chat/local/zone-a"}
    rig.finish(rig.start(step("return")))
    assert rig.out_of_service() == set()


def test_an_action_is_held_to_what_it_promises_to_do_at_most(tmp_path: Path) -> None:
    action = Scripted("tell", touches=out("chat/local/zone-a"), reach=Reach.NONE)
    rig = Rig(tmp_path, action)
    ended = rig.finish(rig.start(step("tell")))
    assert ended.state == RunState.FAILED
    assert "tell promises reach `none`, and would take more out" in ended.reason
    assert (action.calls, rig.out_of_service()) == ([], set())
