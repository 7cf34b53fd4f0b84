"""Calls of playbooks: to allowed hosts alone, at judged addresses, with honest doubt."""

from collections.abc import Callable

import httpx
import pytest

from controlplane.kernel.errors import Ambiguous, InvalidInput, Refused, Unavailable
from controlplane.model.ports import HttpAnswer, HttpCall
from controlplane.notify.web import MAX_BODY, AllowedWeb

CALL = HttpCall(method="POST", url="https://tickets.example.com/api?a=1", body='{"a": 1}')


def web(
    answer: Callable[[httpx.Request], httpx.Response],
    *addresses: str,
    hosts: tuple[str, ...] = ("*.example.com",),
) -> AllowedWeb:
    return AllowedWeb(
        hosts,
        resolver=lambda _host, _port: addresses or ("192.0.2.7",),
        transport=httpx.MockTransport(answer),
    )


def never(request: httpx.Request) -> httpx.Response:
    raise AssertionError(f"{request.url} must not be called")


def raising(error: Exception) -> Callable[[httpx.Request], httpx.Response]:
    def answer(request: httpx.Request) -> httpx.Response:
        raise error

    return answer


def test_a_call_goes_to_the_judged_address_under_the_hosts_name() -> None:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(201, text="made")

    assert web(answer).call(CALL, key="run-1/step") == HttpAnswer(status=201, body="made")
    (request,) = seen
    assert str(request.url) == "https://192.0.2.7/api?a=1"
    assert (request.headers["host"], request.headers["idempotency-key"]) == (
        "tickets.example.com",
        "run-1/step",
    )
    assert request.extensions["sni_hostname"] == "tickets.example.com"
    assert request.content == b'{"a": 1}'


@pytest.mark.parametrize("hosts", [(), ("hooks.example.com",), ("*.example.org",)])
def test_a_host_that_is_not_allowed_is_not_called(hosts: tuple[str, ...]) -> None:
    with pytest.raises(Refused, match="not among the hosts"):
        web(never, hosts=hosts).call(CALL, key="k")


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "fe80::1", "fd00:ec2::254", "::ffff:169.254.169.254", "100.100.100.200"]
)
def test_an_allowed_name_that_leads_to_metadata_or_link_local_is_not_called(address: str) -> None:
    with pytest.raises(Refused, match="never called"):
        web(never, "192.0.2.7", address).call(CALL, key="k")


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    answer = web(lambda _: httpx.Response(302, headers={"Location": "http://169.254.169.254/"}))

    assert answer.call(CALL, key="k").status == 302


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (httpx.ConnectError("refused"), Unavailable),
        (httpx.ConnectTimeout("late"), Unavailable),
        (httpx.ReadTimeout("silent"), Ambiguous),
        (httpx.RemoteProtocolError("cut"), Ambiguous),
    ],
)
def test_what_was_sent_and_not_answered_is_ambiguous(error: Exception, expected: type[Exception]) -> None:
    with pytest.raises(expected):
        web(raising(error)).call(CALL, key="k")


def test_of_a_long_answer_the_beginning_is_kept() -> None:
    answer = web(lambda _: httpx.Response(200, text="x" * (MAX_BODY + 5))).call(CALL, key="k")

    assert len(answer.body) == MAX_BODY


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(InvalidInput):
        web(never).call(CALL.model_copy(update={"url": "http://"}), key="k")
