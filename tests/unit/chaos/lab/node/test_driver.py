"""The driver steps on time, streams what comes out, and neither loses nor doubles under faults."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from chaos.lab.engine.engine import Engine
from chaos.lab.engine.request import FinishReason, Request
from chaos.lab.node.driver import Driver
from chaos.lab.node.metrics import EngineMetrics
from chaos.lab.node.openai_api import Call
from chaos.lab.node.sse import Stream, Whole
from chaos.lab.settings import EngineSettings

Run = Callable[[Callable[[], Awaitable[Any]]], Any]
STEADY = EngineSettings(step_jitter=0)
STEP = STEADY.step_base + STEADY.step_per_sequence
"""Seconds of a step with one sequence."""


class Pipe(asyncio.Transport):
    """A transport that keeps what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.closing = False

    def is_closing(self) -> bool:
        return self.closing

    def write(self, data: Any) -> None:
        self.writes.append(bytes(data))


def driver() -> Driver:
    return Driver(Engine(STEADY, random.Random(1)), EngineMetrics(CollectorRegistry(), "m", STEADY))


def request(driver: Driver, tokens: int = 10) -> Request:
    return Request("a", ["w"] * 4, ["x"] * tokens, FinishReason.LENGTH, driver.now)


def call(tokens: list[str], *, chat: bool = True, usage: bool = False) -> Call:
    return Call(
        chat, ["w"] * 4, tokens, tokens, FinishReason.LENGTH, len(tokens), stream=True, include_usage=usage
    )


def events(writes: list[bytes]) -> list[Any]:
    """Undo the HTTP chunks, of which each must hold one event, and read the events."""
    rest, found = b"".join(writes), []
    while rest:
        size, rest = rest.split(b"\r\n", 1)
        event, rest = rest[: int(size, 16)], rest[int(size, 16) :]
        assert (event[:6], event[-2:], rest[:2]) == (b"data: ", b"\n\n", b"\r\n")
        rest = rest[2:]
        found.append(None if event == b"data: [DONE]\n\n" else json.loads(event[6:]))
    return found


def test_an_idle_driver_has_no_timer_and_a_request_takes_its_steps(run: Run) -> None:
    async def main() -> tuple[float, bool]:
        on = driver()
        whole, started = Whole(), on.now
        on.submit(request(on), whole)
        await whole.done
        return on.now - started, on._timer is None

    seconds, idle = run(main)
    assert seconds == pytest.approx(10 * STEP, rel=0.02)
    assert idle is True


def test_every_token_is_an_event_in_a_chunk_of_its_own(run: Run) -> None:
    tokens = ["42", ' "quoted"', " ünï\n"]

    async def main() -> list[bytes]:
        on, pipe = driver(), Pipe()
        stream = Stream(call(tokens, usage=True), "id-1", 5, "m", pipe, chunked=True)
        on.submit(Request("a", ["w"] * 4, tokens, FinishReason.LENGTH, on.now), stream)
        await stream.done
        return pipe.writes

    writes = run(main)
    assert len(writes) == 3
    *chunks, usage, done = events(writes)
    assert [chunk["choices"][0]["delta"].get("content") for chunk in chunks] == ["", *tokens]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, None, "length"]
    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"
    assert (usage["choices"], usage["usage"]["completion_tokens"], done) == ([], 3, None)


def test_text_completions_stream_text(run: Run) -> None:
    async def main() -> list[bytes]:
        on, pipe = driver(), Pipe()
        stream = Stream(call(["a", " b"], chat=False), "id-1", 5, "m", pipe, chunked=True)
        on.submit(Request("a", ["w"], ["a", " b"], FinishReason.LENGTH, on.now), stream)
        await stream.done
        return pipe.writes

    *chunks, _ = events(run(main))
    assert [chunk["choices"][0]["text"] for chunk in chunks] == ["a", " b"]


def test_nothing_is_written_to_a_closed_connection(run: Run) -> None:
    async def main() -> list[bytes]:
        on, pipe = driver(), Pipe()
        pipe.closing = True
        stream = Stream(call(["a"]), "id-1", 5, "m", pipe, chunked=False)
        on.submit(Request("a", ["w"], ["a"], FinishReason.LENGTH, on.now), stream)
        await stream.done
        return pipe.writes

    assert run(main) == []


def test_a_slow_engine_takes_that_much_longer(run: Run) -> None:
    async def timed(factor: float) -> float:
        on = driver()
        on.set_faults(slow_factor=factor, hung=False)
        whole, started = Whole(), on.now
        on.submit(request(on), whole)
        await whole.done
        return on.now - started

    async def main() -> float:
        return await timed(3.0) / await timed(1.0)

    assert run(main) == pytest.approx(3.0)


def test_a_hang_holds_everything_and_its_end_lets_all_of_it_finish(run: Run) -> None:
    async def main() -> tuple[int, int, bool, int]:
        on = driver()
        first, second = Whole(), Whole()
        on.submit(request(on), first)
        await asyncio.sleep(0.05)
        on.set_faults(slow_factor=1.0, hung=True)
        steps = on.engine.steps
        on.submit(request(on), second)
        await asyncio.sleep(60)
        stuck = on.engine.steps - steps
        pending = first.done.done() or second.done.done()
        on.set_faults(slow_factor=1.0, hung=False)
        await asyncio.gather(first.done, second.done)
        return stuck, on.engine.waiting, pending, on.engine.tokens

    assert run(main) == (0, 0, False, 20)


def test_a_hang_of_an_idle_engine_begins_with_its_first_request(run: Run) -> None:
    async def main() -> tuple[int, int]:
        on = driver()
        on.set_faults(slow_factor=1.0, hung=True)
        whole = Whole()
        on.submit(request(on), whole)
        await asyncio.sleep(5)
        during = on.engine.tokens
        on.set_faults(slow_factor=1.0, hung=False)
        await whole.done
        return during, on.engine.tokens

    assert run(main) == (0, 10)


def test_a_hang_that_ends_within_a_step_costs_nothing(run: Run) -> None:
    async def main() -> float:
        on = driver()
        whole, started = Whole(), on.now
        on.submit(request(on), whole)
        on.set_faults(slow_factor=1.0, hung=True)
        on.set_faults(slow_factor=1.0, hung=False)
        await whole.done
        return on.now - started

    assert run(main) == pytest.approx(10 * STEP, rel=0.02)


def test_an_abort_frees_the_slot_and_is_not_told_of_more_tokens(run: Run) -> None:
    async def main() -> tuple[int, int, bool]:
        on, whole = driver(), Whole()
        work = request(on, tokens=1000)
        on.submit(work, whole)
        await asyncio.sleep(0.1)
        on.abort(work)
        on.abort(work)
        await asyncio.sleep(0.1)
        return on.engine.running, on.engine.used_blocks, whole.done.done()

    assert run(main) == (0, 0, False)


def test_a_stopped_driver_never_steps_again(run: Run) -> None:
    async def main() -> int:
        on, whole = driver(), Whole()
        on.submit(request(on), whole)
        on.stop()
        await asyncio.sleep(5)
        return on.engine.steps

    assert run(main) == 0
