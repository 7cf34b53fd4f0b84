"""A run succeeds only when it is proved: what each result of the verification makes of it."""

from pathlib import Path
from typing import Any

import pytest

from controlplane.kernel.errors import Unavailable
from controlplane.model.states import RunState
from tests.support.rig import Rig
from tests.support.scripted import ESCALATE, SHIFT, Scripted, step

SIGNAL = "slo:tpot@chat/local/zone-a"
TRIGGER = {"signal": "trigger", "within": "1m", "for": "6s"}
QUERY: dict[str, Any] = {"query": "up", "successCondition": "result >= 1", "count": 2, "interval": "5s"}


def test_a_run_is_proved_on_samples_later_than_its_last_effect(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    run = rig.start(SHIFT, verify=[TRIGGER], signal=SIGNAL)
    rig.settle()
    assert rig.run(run).state == RunState.VERIFYING
    ended = rig.finish(run)
    assert ended.state == RunState.SUCCEEDED
    assert ended.ended_at is not None
    assert ended.effect_at is not None
    proof = (ended.ended_at - ended.effect_at).total_seconds()
    assert 6.0 + rig.signals.window <= proof <= 12.0
    assert ended.result["verify"][0]["result"] == "successful"


def test_a_signal_that_stays_bad_fails_the_run_and_takes_back_what_it_did(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.signals.slo = False
    run = rig.start(SHIFT, verify=[TRIGGER], signal=SIGNAL, **ESCALATE)
    ended = rig.finish(run)
    assert ended.state == RunState.FAILED
    assert ended.reason.startswith("it did not help: not good within 1m")
    assert rig.weights()["zone-a"] == 100
    assert len(rig.outbox.sent) == 1


def test_without_data_a_run_is_inconclusive_keeps_what_it_did_and_tells_people(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.signals.silent = True
    run = rig.start(SHIFT, verify=[TRIGGER], signal=SIGNAL, **ESCALATE)
    ended = rig.finish(run)
    assert ended.state == RunState.INCONCLUSIVE
    assert rig.weights()["zone-a"] == 0
    assert [sent[1] for sent in rig.outbox.sent] == ["oncall"]


def test_an_observer_that_comes_back_in_time_proves_the_run_after_all(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.signals.silent = True
    run = rig.start(SHIFT, verify=[TRIGGER], signal=SIGNAL)
    rig.pass_time(30.0)
    rig.signals.silent = False
    assert rig.finish(run).state == RunState.SUCCEEDED


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ([1.0], RunState.SUCCEEDED),
        ([0.0], RunState.FAILED),
        ([None], RunState.INCONCLUSIVE),
        ([Unavailable("Prometheus is down")], RunState.INCONCLUSIVE),
    ],
)
def test_a_query_decides_the_run(tmp_path: Path, values: list[Any], state: RunState) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    rig.metrics.values = values
    assert rig.finish(rig.start(step("first"), verify=[QUERY])).state == state


def test_a_query_may_name_what_the_steps_found(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    query = {**QUERY, "query": "up{zone='{{ steps.first.outputs.value }}'}"}
    rig.finish(rig.start(step("first", **{"with": {"value": "zone-b"}}), verify=[query]))
    assert rig.metrics.asked == ["up{zone='zone-b'}"] * 2


def test_every_check_must_hold(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    rig.metrics.values = [0.0]
    ended = rig.finish(rig.start(step("first"), verify=[TRIGGER, QUERY], signal=SIGNAL))
    assert ended.state == RunState.FAILED


def test_a_query_that_cannot_be_rendered_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Scripted("first"))
    query = {**QUERY, "query": "up{zone='{{ steps.nowhere.outputs.value }}'}"}
    ended = rig.finish(rig.start(step("first"), verify=[query]))
    assert ended.state == RunState.INCONCLUSIVE
    assert "nowhere" in ended.reason


def test_a_run_can_be_cancelled_while_it_is_proved(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.signals.slo = False
    run = rig.start(SHIFT, verify=[TRIGGER], signal=SIGNAL)
    rig.settle()
    rig.cancel(run)
    assert rig.finish(run, seconds=5).state == RunState.CANCELLED
    assert rig.weights()["zone-a"] == 100
