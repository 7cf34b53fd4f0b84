"""`notify.send`: what people get, and that a repetition can be told."""

import pytest

from controlplane.actions.notify_send import NotifySend
from controlplane.kernel.errors import Refused, Unavailable
from controlplane.model.outcome import Done
from controlplane.model.ports import Notification
from tests.support.steps import StepDriver


def notify(**with_: str) -> StepDriver:
    return StepDriver(NotifySend(), **{"title": "zone-a is evacuated", **with_})


def test_a_message_says_which_run_and_step_it_comes_from() -> None:
    step = notify(channel="oncall", text="look at it", severity="warning")

    assert step.run() == Done({"to": "oncall"})
    message = Notification(
        title="zone-a is evacuated",
        text="look at it",
        severity="warning",
        facts={"service": "chat", "run": "run-1", "step": "step"},
    )
    assert step.outbox.sent == [(message, "oncall", None, "run-1/step")]


def test_a_message_can_go_to_an_address() -> None:
    step = notify(url="https://hooks.example/x")

    assert step.run() == Done({"to": "https://hooks.example/x"})
    assert step.outbox.sent[0][2] == "https://hooks.example/x"


def test_a_message_sent_again_after_a_crash_carries_the_same_key() -> None:
    step = notify(channel="oncall")
    step.crash()
    step.run()

    assert [key for *_, key in step.outbox.sent] == ["run-1/step", "run-1/step"]


@pytest.mark.parametrize("error", [Unavailable("no answer"), Refused("403")])
def test_what_the_notifier_raises_is_the_engines_to_judge(error: Exception) -> None:
    step = notify(channel="oncall")
    step.outbox.error = error

    with pytest.raises(type(error)):
        step.call()


@pytest.mark.parametrize(
    "with_", [{}, {"channel": "a", "url": "http://h/"}, {"url": "ftp://h/"}, {"channel": "Not A Name"}]
)
def test_a_message_needs_exactly_one_place_to_go(with_: dict) -> None:
    with pytest.raises(ValueError, match=r"channel|url"):
        notify(**with_)
