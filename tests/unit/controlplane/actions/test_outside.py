"""`halt` and `http.request`: once, with an end, and never blindly twice."""

from datetime import timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from controlplane.actions.halt import Halt
from controlplane.actions.http_request import HttpRequest
from controlplane.kernel.clock import to_rfc3339
from controlplane.kernel.errors import Ambiguous, Refused
from controlplane.model.action import UndoStatus
from controlplane.model.outcome import Again, Done, Failed, FailureKind
from controlplane.model.ports import HttpAnswer
from tests.support.steps import StepDriver

URL = "https://tickets.example.com/t"


def halt(**with_: Any) -> StepDriver:
    return StepDriver(Halt(), reason="look first", **{"for": "30m", **with_})


def request(**with_: Any) -> StepDriver:
    return StepDriver(HttpRequest(), url=URL, **with_)


def test_a_halt_is_raised_for_the_service_with_a_reason_and_an_end() -> None:
    step = halt(zone="zone-a")
    began = step.clock.now()

    outcome = step.run()

    (stands,) = step.halts.halts.values()
    assert (stands.service, stands.zone, stands.reason, stands.by) == (
        "chat",
        "zone-a",
        "look first",
        "run run-1",
    )
    assert stands.expires_at == began + timedelta(minutes=30)
    assert outcome == Done({"halt": stands.id, "until": to_rfc3339(stands.expires_at)})


def test_a_halt_without_an_end_is_refused() -> None:
    with pytest.raises(ValidationError, match="for"):
        StepDriver(Halt(), reason="look first")


def test_a_crash_raises_no_second_halt_and_does_not_prolong_the_first() -> None:
    step = halt()
    step.crash()
    (first,) = step.halts.halts.values()
    step.clock.advance(60)

    assert isinstance(step.run(), Done)
    assert list(step.halts.halts.values()) == [first]


def test_undo_lifts_the_halt_and_leaves_one_that_was_lifted() -> None:
    step = halt()
    step.run()

    assert [result.status for result in step.undo()] == [UndoStatus.UNDONE]
    (lifted,) = step.halts.halts.values()
    assert lifted.lifted_at == step.clock.now()
    assert [result.detail for result in step.undo()] == [f"{lifted.id} is lifted already"]


def test_an_answer_is_read_as_json_where_it_is() -> None:
    assert request().run() == Done({"status": 200, "body": {"id": 7}})

    step = request()
    step.web.answers = [HttpAnswer(status=204, body="")]
    assert step.run() == Done({"status": 204, "body": ""})


@pytest.mark.parametrize(
    ("body", "sent", "kind"),
    [
        ({"a": 1}, '{"a": 1}', "application/json"),
        ("plain", "plain", "text/plain; charset=utf-8"),
        (None, None, "application/json"),
    ],
)
def test_a_body_is_sent_as_it_is_or_as_json(body: Any, sent: str | None, kind: str) -> None:
    step = request(method="PUT", body=body)
    step.run()

    ((call, key),) = step.web.calls
    assert (call.method, call.body, call.content_type, key) == ("PUT", sent, kind, "run-1/step")


@pytest.mark.parametrize(
    ("status", "kind"),
    [(503, FailureKind.TRANSIENT), (429, FailureKind.TRANSIENT), (404, FailureKind.PERMANENT)],
)
def test_another_status_than_expected_fails_the_step(status: int, kind: FailureKind) -> None:
    step = request(expect=[201])
    step.web.answers = [HttpAnswer(status=status, body="no")]

    assert step.run() == Failed(kind, f"it answers {status}, not 201", {"status": status, "body": "no"})


def test_what_got_no_answer_is_sent_again_with_the_same_key_unless_it_is_a_post() -> None:
    step = request(method="PUT")
    step.web.answers = [Ambiguous("silence"), HttpAnswer(status=200, body="{}")]
    assert isinstance(step.call(), Again)
    assert isinstance(step.run(), Done)
    assert [key for _, key in step.web.calls] == ["run-1/step", "run-1/step"]

    post = request(method="POST")
    assert post.action.observe(post.parameters, post.context()) is None


def test_an_address_that_may_not_be_called_is_for_good() -> None:
    step = request()
    step.web.answers = [Refused("never")]

    with pytest.raises(Refused):
        step.call()


def test_the_plan_shows_where_to_without_what_may_be_secret() -> None:
    step = StepDriver(HttpRequest(), url=f"{URL}?token=abc")
    (change,) = step.action.plan(step.parameters, step.context())

    assert change.intended == f"GET {URL}"
