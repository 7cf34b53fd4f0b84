"""`query.wait`: until the condition holds, for as long as was asked; silence meets no condition."""

import pytest
from pydantic import ValidationError

from controlplane.actions.query_wait import QueryWait, WaitParameters
from controlplane.kernel.errors import InvalidInput, Unavailable
from controlplane.model.outcome import Again, Done, Failed, FailureKind
from tests.support.steps import StepDriver


def wait(*values: float | Exception | None, **with_: object) -> StepDriver:
    step = StepDriver(QueryWait(), **{"query": "q", "condition": "result < 1", **with_})
    step.metrics.values = list(values)
    return step


def test_a_condition_that_holds_ends_the_wait_at_the_first_look() -> None:
    step = wait(0.0)

    assert step.run() == Done({"result": 0.0, "looks": 1})
    assert step.metrics.asked == ["q"]


def test_it_looks_each_interval_until_the_condition_holds() -> None:
    step = wait(7.0, 3.0, 0.5, interval="10s")

    assert step.run() == Done({"result": 0.5, "looks": 3})
    assert step.clock.monotonic() == 20


def test_silence_and_an_absent_source_are_waited_out() -> None:
    step = wait(None, Unavailable("prometheus is away"), 0.0)

    assert step.run() == Done({"result": 0.0, "looks": 3})
    assert step.reasons == ["not yet: the query has no data", "not yet: prometheus is away"]


def test_a_condition_must_hold_without_a_break_when_told_so() -> None:
    step = wait(0.0, 0.0, 5.0, 0.0, 0.0, 0.0, **{"for": "10s"}, interval="5s")

    assert isinstance(step.run(), Done)
    assert step.clock.monotonic() == 25


def test_silence_breaks_the_hold() -> None:
    step = wait(0.0, None, 0.0, 0.0, **{"for": "5s"}, interval="5s")

    assert isinstance(step.run(), Done)
    assert step.clock.monotonic() == 15


def test_the_last_look_comes_when_the_hold_is_over_not_an_interval_later() -> None:
    step = wait(0.0, **{"for": "7s"}, interval="5s")

    assert isinstance(step.run(), Done)
    assert step.clock.monotonic() == 7


def test_a_condition_that_is_neither_true_nor_false_fails_for_good() -> None:
    outcome = wait(3.0, condition="result + 1").call()

    assert outcome == Failed(FailureKind.PERMANENT, "`result + 1` is 4.0: a condition must be true or false")


def test_a_query_that_is_not_valid_is_raised_for_the_engine_to_end_the_step() -> None:
    with pytest.raises(InvalidInput):
        wait(InvalidInput("parse error")).call()


@pytest.mark.parametrize("condition", ["result <", "reslut < 1", "{{ result }} < 1", "{% if result %}"])
def test_a_condition_that_is_no_expression_over_result_is_refused_at_load(condition: str) -> None:
    with pytest.raises(ValidationError, match="condition"):
        WaitParameters.model_validate({"query": "q", "condition": condition})


def test_an_interval_under_a_second_is_refused() -> None:
    with pytest.raises(ValidationError):
        WaitParameters.model_validate({"query": "q", "condition": "true", "interval": "10ms"})


def test_the_state_between_two_looks_is_json() -> None:
    step = wait(0.0, **{"for": "60s"})
    outcome = step.call()

    assert isinstance(outcome, Again)
    assert outcome.state == {"looks": 1, "since": "2026-01-01T00:00:00.000Z"}
