"""The canary prober against engines that answer, hang, lie, break off and refuse."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiohttp import web

from controlplane.kernel.clock import SystemClock
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.observe.canary import Prober
from controlplane.observe.probes import ReplicaVerdict

pytestmark = pytest.mark.slow

REPLICA = Target("chat", "local", "zone-a", "node-a1", "replica-a1-0")
SERVICE = Service.model_validate(
    {
        "kind": "Service",
        "metadata": {"name": "chat"},
        "spec": {
            "model": "m",
            "zones": [{"name": "zone-a"}],
            "effective": {"ttft": "600ms", "tpot": "200ms"},
            "canary": {"every": "300ms", "timeout": "1200ms"},
        },
    }
)


class Engine:
    """An OpenAI-compatible engine that streams; ``behave`` says how."""

    def __init__(self) -> None:
        self.behave = "well"
        self.open = 0
        self.asked_at: list[float] = []
        self.bodies: list[dict[str, Any]] = []
        self.loop = asyncio.new_event_loop()
        self.address = ""
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        wait_for(lambda: bool(self.address))

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self.runner.cleanup(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self._serve())
        self.loop.run_forever()

    async def _serve(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._answer)
        self.runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        host, port = self.runner.addresses[0][:2]
        self.address = f"http://{host}:{port}"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.asked_at.append(time.monotonic())
        self.open += 1
        try:
            return await self._stream(request, body["messages"][0]["content"])
        finally:
            self.open -= 1

    async def _stream(self, request: web.Request, question: str) -> web.StreamResponse:
        if self.behave == "error":
            return web.json_response({"error": "no"}, status=500)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if self.behave == "hang":
            await asyncio.sleep(60)
        left, right = question.removeprefix("What is ").split("?")[0].split("+")
        total = int(left) + int(right) + (1 if self.behave == "lie" else 0)
        for number, word in enumerate([str(total), " is", " it"]):
            if number:
                await asyncio.sleep(0.3 if self.behave == "slow" else 0.01)
            chunk = {"choices": [{"delta": {"content": word}}]}
            await response.write(f"data: {json.dumps(chunk)}\n\n".encode())
            if self.behave == "break":
                assert request.transport is not None
                request.transport.close()
                return response
        await response.write(b"data: [DONE]\n\n")
        return response


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.02)


class Stage:
    def __init__(self) -> None:
        self.clock = SystemClock()
        self.engine = Engine()
        self.prober = Prober(SERVICE, self.clock)
        self.prober.start()
        self.prober.aim({REPLICA: self.engine.address})

    def verdict(self) -> ReplicaVerdict:
        return self.prober.book.replica(REPLICA, self.clock.now().timestamp())

    def until(self, good: bool, detail: str = "") -> ReplicaVerdict:
        wait_for(lambda: self.verdict().good is good and detail in self.verdict().detail)
        return self.verdict()


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.prober.stop()
    made.engine.stop()


def test_an_engine_that_answers_rightly_and_in_time_is_good(stage: Stage) -> None:
    found = stage.until(True)
    assert found.ttft is not None
    assert found.ttft < 0.6
    wait_for(lambda: len({body["messages"][0]["content"] for body in stage.engine.bodies}) > 1)
    assert {(body["stream"], body["temperature"]) for body in stage.engine.bodies} == {(True, 0)}


def test_a_hang_behind_open_headers_is_overdue_before_its_time_out(stage: Stage) -> None:
    stage.until(True)
    stage.engine.behave = "hang"
    found = stage.until(False, "no first token after")
    assert (found.overdue, found.failing) == (True, True)
    asked = len(stage.engine.asked_at)
    wait_for(lambda: len(stage.engine.asked_at) >= asked + 3)
    gaps = [later - earlier for earlier, later in itertools.pairwise(stage.engine.asked_at[asked:])]
    assert min(gaps) > 1.0


@pytest.mark.parametrize(
    ("behave", "detail"),
    [("lie", "asked 'What is"), ("error", "status 500"), ("break", "Client"), ("slow", "slow: TTFT")],
)
def test_what_is_wrong_is_said_and_healing_is_seen(stage: Stage, behave: str, detail: str) -> None:
    stage.until(True)
    stage.engine.behave = behave
    stage.until(False, detail)
    stage.engine.behave = "well"
    stage.until(True)


def test_a_refused_connection_is_not_good(stage: Stage) -> None:
    stage.until(True)
    stage.prober.aim({REPLICA: "http://127.0.0.1:9"})
    stage.until(False, "not reached")


def test_a_replica_that_is_gone_is_asked_no_more(stage: Stage) -> None:
    stage.until(True)
    stage.prober.aim({})
    wait_for(lambda: stage.engine.open == 0)
    time.sleep(0.1)
    asked = len(stage.engine.bodies)
    time.sleep(1.0)
    assert len(stage.engine.bodies) == asked
