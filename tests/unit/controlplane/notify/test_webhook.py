"""Messages to channels and addresses: what is sent, what comes of each answer, what stays secret."""

import json
import logging
from collections.abc import Callable

import httpx
import pytest

from controlplane.kernel.errors import FleetwardError, InvalidInput, Refused, Unavailable
from controlplane.model.ports import Notification, Notifier
from controlplane.notify.webhook import WebhookNotifier

MESSAGE = Notification(title="zone-a is evacuated", severity="warning", facts={"run": "run-1"})
CHANNELS = {"oncall": "https://hooks.example/${env:HOOK}", "plain": "http://hooks.example:8080/a?b=c"}


class Receiver:
    """Remembers requests and answers as told."""

    def __init__(self, status: int = 200, error: type[httpx.RequestError] | None = None) -> None:
        self.requests: list[httpx.Request] = []
        self.status = status
        self.error = error

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.error is not None:
            raise self.error("broken", request=request)
        return httpx.Response(self.status, headers={"location": "http://169.254.169.254/"})


def notifier(
    receiver: Receiver, *, resolver: Callable[[str, int], list[str]] = lambda _host, _port: ["10.0.0.7"]
) -> Notifier:
    return WebhookNotifier(
        lambda: CHANNELS,
        environment={"HOOK": "s3cret"},
        resolver=resolver,
        transport=httpx.MockTransport(receiver),
    )


def test_a_message_goes_as_json_to_the_address_that_was_judged_under_the_hosts_name() -> None:
    receiver = Receiver()

    notifier(receiver).send(MESSAGE, channel="plain", key="run-1/tell")

    (request,) = receiver.requests
    assert (request.method, str(request.url)) == ("POST", "http://10.0.0.7:8080/a?b=c")
    assert request.headers["host"] == "hooks.example:8080"
    assert request.headers["idempotency-key"] == "run-1/tell"
    assert request.extensions["sni_hostname"] == "hooks.example"
    assert json.loads(request.content) == {
        "title": "zone-a is evacuated",
        "text": "",
        "severity": "warning",
        "facts": {"run": "run-1"},
    }


def test_the_phases_of_a_call_end_within_five_seconds_together() -> None:
    receiver = Receiver()
    notifier(receiver).send(MESSAGE, channel="plain", key="k")

    assert sum(receiver.requests[0].extensions["timeout"].values()) == 5.0


def test_a_channels_secret_is_filled_in_from_the_environment() -> None:
    receiver = Receiver()
    notifier(receiver).send(MESSAGE, channel="oncall", key="k")

    assert receiver.requests[0].url.path == "/s3cret"


@pytest.mark.parametrize("receiver", [Receiver(500), Receiver(404), Receiver(error=httpx.ReadTimeout)])
def test_a_secret_is_neither_logged_nor_told_in_errors(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    with pytest.raises(FleetwardError) as caught:
        notifier(receiver).send(MESSAGE, channel="oncall", key="k")

    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in caplog.text


def test_an_address_of_a_playbook_may_not_refer_to_secrets() -> None:
    receiver = Receiver()

    with pytest.raises(InvalidInput, match="secrets"):
        notifier(receiver).send(MESSAGE, url="https://evil.example/${env:HOOK}", key="k")
    assert receiver.requests == []


def test_a_secret_that_is_not_set_is_named_not_guessed() -> None:
    sender = WebhookNotifier(lambda: CHANNELS, environment={}, transport=httpx.MockTransport(Receiver()))

    with pytest.raises(InvalidInput, match="HOOK"):
        sender.send(MESSAGE, channel="oncall", key="k")


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (301, Refused),
        (302, Refused),
        (307, Refused),
        (400, Refused),
        (401, Refused),
        (404, Refused),
        (408, Unavailable),
        (429, Unavailable),
        (500, Unavailable),
        (503, Unavailable),
    ],
)
def test_an_answer_says_whether_a_retry_may_help_and_no_redirect_is_followed(
    status: int, error: type[FleetwardError]
) -> None:
    receiver = Receiver(status)

    with pytest.raises(error):
        notifier(receiver).send(MESSAGE, channel="plain", key="k")
    assert len(receiver.requests) == 1


def families(error: type[httpx.RequestError]) -> set[type[httpx.RequestError]]:
    return {error}.union(*(families(child) for child in error.__subclasses__()))


@pytest.mark.parametrize("error", sorted(families(httpx.RequestError), key=str))
def test_whatever_the_client_raises_is_unavailable(error: type[httpx.RequestError]) -> None:
    with pytest.raises(Unavailable):
        notifier(Receiver(error=error)).send(MESSAGE, channel="plain", key="k")


def test_a_host_that_resolves_to_a_metadata_service_is_not_called() -> None:
    receiver = Receiver()

    with pytest.raises(Refused):
        notifier(receiver, resolver=lambda _host, _port: ["169.254.169.254"]).send(
            MESSAGE, url="http://innocent.example/", key="k"
        )
    assert receiver.requests == []


def test_an_unknown_channel_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="did you mean `oncall`"):
        notifier(Receiver()).send(MESSAGE, channel="on-call", key="k")


@pytest.mark.parametrize("to", [{}, {"channel": "plain", "url": "http://h/"}])
def test_a_message_goes_to_exactly_one_place(to: dict) -> None:
    with pytest.raises(InvalidInput, match="name one"):
        notifier(Receiver()).send(MESSAGE, key="k", **to)
