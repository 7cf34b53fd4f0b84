"""A text from a file or an address, bounded in size and time, or what to do instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from controlplane.kernel.clock import SystemClock
from controlplane.kernel.errors import FleetwardError, InvalidInput, NotAllowed, NotFound, Unavailable
from controlplane.observe import fetch as module
from controlplane.observe.fetch import fetch

URL = "http://engine:8000/metrics"


class LateClock(SystemClock):
    """A clock on which a minute passes between two looks."""

    def __init__(self) -> None:
        self.at = 0.0

    def monotonic(self) -> float:
        self.at += 60.0
        return self.at


def ask(answer: Callable[[httpx.Request], httpx.Response], url: str = URL) -> bytes:
    return fetch(url, SystemClock(), httpx.MockTransport(answer))


def raising(error: Exception) -> Callable[[httpx.Request], httpx.Response]:
    def answer(_: httpx.Request) -> httpx.Response:
        raise error

    return answer


def test_a_bare_address_means_its_metrics() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, content=b"a 1\n")

    assert ask(answer, "http://engine:8000") == b"a 1\n"
    assert ask(answer, "http://engine:8000/v1/metrics") == b"a 1\n"
    assert asked == [URL, "http://engine:8000/v1/metrics"]


@pytest.mark.parametrize(
    ("status", "kind", "advice"),
    [
        (404, NotFound, "NIM /v1/metrics"),
        (401, NotAllowed, "Authorization"),
        (302, InvalidInput, "give that address"),
        (503, Unavailable, "engine's log"),
    ],
)
def test_a_refusal_says_what_to_do(status: int, kind: type[FleetwardError], advice: str) -> None:
    with pytest.raises(kind, match=str(status)) as caught:
        ask(lambda _: httpx.Response(status, headers={"location": "/login"}))
    assert advice in str(caught.value.hint)


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (httpx.ConnectError("refused"), "cannot be reached: refused"),
        (httpx.ReadTimeout("late"), "did not answer within 5 s"),
        (httpx.RemoteProtocolError("cut"), "before it was whole: cut"),
    ],
)
def test_no_answer_is_unavailable(error: Exception, problem: str) -> None:
    with pytest.raises(Unavailable, match=problem) as caught:
        ask(raising(error))
    assert caught.value.hint


@pytest.mark.parametrize(
    "url", ["http://", "http://[::1", "ftp://engine/metrics", "http://a:99999999/metrics"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(FleetwardError) as caught:
        fetch(url, SystemClock())
    assert caught.value.hint


def test_no_more_is_read_than_an_exposition_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BYTES", 8)
    read: list[bytes] = []

    def endless() -> Iterator[bytes]:
        while True:
            read.append(b"abcd")
            yield b"abcd"

    content = ask(lambda _: httpx.Response(200, content=endless()))
    assert 8 < len(content) <= 16
    assert len(read) <= 4


def test_a_stream_that_trickles_is_ended_at_the_deadline() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"a 1\n"

    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=endless()))
    with pytest.raises(Unavailable, match="after 15 s"):
        fetch(URL, LateClock(), transport)


def test_files_are_read_and_what_is_none_is_told(tmp_path: Path) -> None:
    (tmp_path / "metrics.txt").write_text("a 1\n")
    assert fetch(str(tmp_path / "metrics.txt"), SystemClock()) == b"a 1\n"
    with pytest.raises(NotFound, match="there is no file"):
        fetch(str(tmp_path / "other.txt"), SystemClock())
    with pytest.raises(InvalidInput, match="cannot be read"):
        fetch(str(tmp_path), SystemClock())
