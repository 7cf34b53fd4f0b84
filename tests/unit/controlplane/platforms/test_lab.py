"""Each way in which the lab can fail to answer is one error of the kernel's tree."""

from collections.abc import Callable

import httpx
import pytest

from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import (
    Ambiguous,
    Conflict,
    Fenced,
    FleetwardError,
    InvalidInput,
    NotFound,
    Unavailable,
    VersionConflict,
)
from controlplane.model.target import Target
from controlplane.model.topology import WriteTag
from controlplane.platforms.lab import LabPlatform
from controlplane.platforms.memory import MemoryPlatform
from controlplane.platforms.port import CALL_TIMEOUT

REPLICA = Target("chat", "local", "zone-a", "node-a1", "replica-a1-0")
TAG = WriteTag(run="r", step="s", attempt=1, fence=1, key="k")
Respond = Callable[[httpx.Request], httpx.Response]

NEVER_SENT = {
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
    httpx.LocalProtocolError,
}


def family(error: type[httpx.RequestError]) -> set[type[httpx.RequestError]]:
    return {error}.union(*(family(child) for child in error.__subclasses__()))


def request_errors() -> list[type[httpx.RequestError]]:
    return sorted(family(httpx.RequestError), key=lambda error: error.__name__)


def lab(write: Respond, clock: VirtualClock | None = None) -> LabPlatform:
    """Return a platform whose reads are answered from memory, and its writes by ``write``."""
    memory = MemoryPlatform(VirtualClock())

    def respond(request: httpx.Request) -> httpx.Response:
        if request.method == "GET" and request.url.path == "/v1/topology":
            return httpx.Response(200, text=memory.topology("chat").model_dump_json(by_alias=True))
        if request.method == "GET" and request.url.path == "/v1/weights":
            return httpx.Response(200, text=memory.weights("chat").model_dump_json(by_alias=True))
        return write(request)

    return LabPlatform("http://lab", clock=clock or VirtualClock(), transport=httpx.MockTransport(respond))


def raising(error: type[httpx.RequestError]) -> Respond:
    def respond(request: httpx.Request) -> httpx.Response:
        raise error("broken", request=request)

    return respond


def answering(status: int, **document: object) -> Respond:
    return lambda _request: httpx.Response(status, json=document)


def shift(platform: LabPlatform) -> None:
    platform.set_weights("chat", {"zone-a": 0}, expected_version="1", by=TAG)


def restart(platform: LabPlatform) -> None:
    platform.restart_replica(REPLICA, expected_uid=None, reason="leak", by=TAG)


@pytest.mark.parametrize("error", request_errors())
@pytest.mark.parametrize("write", [shift, restart])
def test_a_write_is_unavailable_if_it_was_never_sent_and_ambiguous_if_it_was(
    error: type[httpx.RequestError], write: Callable[[LabPlatform], None]
) -> None:
    expected = Unavailable if error in NEVER_SENT else Ambiguous

    with pytest.raises(expected):
        write(lab(raising(error)))


@pytest.mark.parametrize("error", request_errors())
def test_a_read_that_fails_is_unavailable(error: type[httpx.RequestError]) -> None:
    with pytest.raises(Unavailable):
        lab(raising(error)).writes()


def test_every_error_that_httpx_can_raise_for_a_request_is_enumerated() -> None:
    exported = {
        thing
        for thing in vars(httpx).values()
        if isinstance(thing, type) and issubclass(thing, httpx.RequestError)
    }

    assert exported - set(request_errors()) == set()
    assert len(request_errors()) > 10


@pytest.mark.parametrize(
    "error", [Ambiguous, Conflict, Fenced, InvalidInput, NotFound, Unavailable, VersionConflict]
)
def test_what_the_lab_says_is_raised_as_it_says_it(error: type[FleetwardError]) -> None:
    with pytest.raises(error, match="because") as caught:
        restart(lab(answering(error.status, code=error.code, message="because")))

    assert type(caught.value) is error


@pytest.mark.parametrize(
    "respond",
    [
        answering(500, error="a bug"),
        answering(502, code="no_such_code", message="?"),
        answering(200, unexpected=1),
        lambda _request: httpx.Response(200, text="<html>"),
        lambda _request: httpx.Response(503, text="no JSON"),
        lambda _request: httpx.Response(307, headers={"location": "http://elsewhere/"}),
    ],
)
def test_an_answer_that_makes_no_sense_leaves_a_write_ambiguous(respond: Respond) -> None:
    with pytest.raises(Ambiguous):
        restart(lab(respond))


def test_a_read_whose_answer_makes_no_sense_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        lab(answering(200, unexpected=1)).writes()


def test_a_call_that_has_used_its_time_up_sends_no_write() -> None:
    clock = VirtualClock()
    sent: list[str] = []

    def slow(request: httpx.Request) -> httpx.Response:
        clock.advance(CALL_TIMEOUT)
        sent.append(request.method)
        return httpx.Response(200, text=MemoryPlatform(clock).topology("chat").model_dump_json(by_alias=True))

    platform = LabPlatform("http://lab", clock=clock, transport=httpx.MockTransport(slow))

    with pytest.raises(Unavailable, match="nothing was done"):
        restart(platform)
    assert sent == ["GET"]


def test_an_unconditional_write_is_made_again_on_what_another_has_written_meanwhile() -> None:
    answers = [
        httpx.Response(409, json={"code": "version_conflict", "message": "changed"}),
        httpx.Response(200, json={"version": "3", "weights": {"zone-a": 0, "zone-b": 100, "zone-c": 100}}),
    ]
    platform = lab(lambda _request: answers.pop(0))

    after = platform.set_weights("chat", {"zone-a": 0}, expected_version=None, by=TAG)

    assert after.version == "3"
    assert answers == []


def test_an_unconditional_write_that_always_comes_late_is_a_conflict() -> None:
    with pytest.raises(VersionConflict):
        lab(answering(409, code="version_conflict", message="changed")).set_weights(
            "chat", {"zone-a": 0}, expected_version=None, by=TAG
        )
