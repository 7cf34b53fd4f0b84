"""What a run is made of: rows, pins, inputs, a group, and one message after the commit."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.act.start import StartRequest, resolve_inputs, start_run
from controlplane.act.sweep import sweep
from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.model.playbook import Input, Playbook
from controlplane.model.states import StepState
from tests.support.rig import Crash, Rig
from tests.support.scripted import Scripted, step
from tests.support.steps import SERVICE

PLAYBOOK = Playbook.model_validate(
    {
        "kind": "Playbook",
        "metadata": {"name": "failover"},
        "spec": {
            "inputs": {
                "ramp": {"type": "duration", "default": "5s"},
                "weight": {"type": "number", "default": 0},
            },
            "concurrency": {"group": "service/{{ service.name }}/{{ incident.zone }}", "onConflict": "skip"},
            "steps": [{"id": "shift", "uses": "traffic.shift", "with": {"zone": "{{ incident.zone }}"}}],
        },
    }
)


def test_a_playbooks_request_has_its_inputs_its_group_and_its_target() -> None:
    request = StartRequest.of_playbook(
        PLAYBOOK, SERVICE, {"Service": "x"}, target="chat/local/zone-a", inputs={"ramp": "1m"}
    )
    assert request.inputs == {"ramp": "1m", "weight": 0}
    assert request.group == "service/chat/zone-a"
    assert request.on_conflict == "skip"
    assert request.scope["incident"]["zone"] == "zone-a"


def test_a_run_is_written_with_its_steps_and_sent_once_after_the_commit(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    run = rig.start(step("first"), name="two-steps")
    assert rig.woken == [run.id]
    assert rig.steps(run)["first"].state == StepState.PENDING
    assert [line.message for line in rig.journal(run)] == ["manual started two-steps"]
    rig.woken.clear()
    assert rig.executor.sweep() == 0


def test_a_run_whose_message_is_lost_is_sent_again(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    run = rig.start(step("first"))
    rig.woken.clear()
    rig.clock.advance(10.0)
    assert rig.executor.sweep() == 1
    assert rig.woken == [run.id]


def test_while_messages_wait_at_the_carrier_an_old_one_is_taken_to_wait_among_them(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    run = rig.start(step("first"))
    rig.clock.advance(20.0)
    assert sweep(rig.database, rig.woken.append, lambda: 700) == 0
    assert sweep(rig.database, rig.woken.append, lambda: 0) == 1
    rig.clock.advance(120.0)
    assert sweep(rig.database, rig.woken.append, lambda: 700) == 1
    assert rig.woken == [run.id] * 3


def test_what_a_lost_worker_held_is_sent_again_however_many_messages_wait(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    run = rig.start(step("first"))
    rig.crash(at=2)
    with pytest.raises(Crash):
        rig.executor.advance(run.id)
    rig.survive()
    assert sweep(rig.database, rig.woken.append, lambda: 700) == 1
    assert rig.woken == [run.id]
    assert sweep(rig.database, rig.woken.append, lambda: 700) == 0


def test_a_run_must_pin_a_service_that_is_known(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    rig.pins = {}
    with pytest.raises(InvalidInput):
        rig.start(step("first"))
    rig.pins = {"Service": "0" * 64}
    with pytest.raises(NotFound):
        rig.start(step("first"))


def test_a_run_that_is_rolled_back_is_not_sent(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    request = StartRequest.of_playbook(PLAYBOOK, SERVICE, rig.pins, target="chat/local/zone-a")

    def start_and_fail() -> None:
        with rig.database.transaction() as tx:
            start_run(tx, request, rig.woken.append)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        start_and_fail()
    assert rig.woken == []
    with rig.database.reading() as tx:
        assert tx.runs.count() == 0


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("string", "text", 1),
        ("number", 1.5, "1.5"),
        ("number", 1, True),
        ("boolean", False, "no"),
        ("duration", "1m30s", "90"),
        ("quantity", "20%", "120%"),
        ("quantity", 2, -1),
    ],
)
def test_inputs_have_types(kind: str, good: Any, bad: Any) -> None:
    declared = {"value": Input.model_validate({"type": kind})}
    assert str(resolve_inputs(declared, {"value": good})["value"]) == str(good)
    with pytest.raises(InvalidInput):
        resolve_inputs(declared, {"value": bad})


def test_unknown_and_missing_inputs_are_named() -> None:
    declared = {"ramp": Input.model_validate({"type": "duration"})}
    with pytest.raises(InvalidInput, match="did you mean `ramp`"):
        resolve_inputs(declared, {"rampe": "5s"})
    with pytest.raises(InvalidInput, match="`ramp` is missing"):
        resolve_inputs(declared, {})
