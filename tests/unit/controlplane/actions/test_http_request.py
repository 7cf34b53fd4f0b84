"""`http.request`: once, and never blindly twice."""

from typing import Any

import pytest

from controlplane.actions.http_request import HttpRequest
from controlplane.kernel.errors import Ambiguous, Refused
from controlplane.model.outcome import Again, Done, Failed, FailureKind
from controlplane.model.ports import HttpAnswer
from tests.support.steps import StepDriver

URL = "https://tickets.example.com/t"


def request(**with_: Any) -> StepDriver:
    return StepDriver(HttpRequest(), url=URL, **with_)


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
