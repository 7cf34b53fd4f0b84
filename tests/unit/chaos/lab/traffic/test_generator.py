"""The open loop, and the client against a server that answers as told."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from aiohttp import web

from chaos.lab.traffic import client as clients
from chaos.lab.traffic.arrivals import Arrival, Plan
from chaos.lab.traffic.client import Client, Tell, UnixTime, _nobody
from chaos.lab.traffic.generator import Generator, session
from chaos.lab.traffic.metrics import Metrics
from chaos.lab.traffic.prompts import Prompt, Prompts
from chaos.lab.traffic.surge import Surge, SurgeSpec
from chaos.lab.traffic.tiers import Tiers
from chaos.lab.traffic.truth import Request, Truth
from controlplane.kernel.clock import SystemClock
from controlplane.kernel.errors import InvalidInput

Reply = Callable[[web.Request, Prompt, int], AsyncIterator[bytes]]
TIME = UnixTime(SystemClock())
END = datetime(2100, 1, 1, tzinfo=UTC)


def chunk(text: str) -> bytes:
    return (
        b"data: "
        + json.dumps({"choices": [{"delta": {"content": text}}]}, separators=(",", ":")).encode()
        + b"\n\n"
    )


async def right(request: web.Request, prompt: Prompt, tokens: int) -> AsyncIterator[bytes]:
    yield chunk("")
    await asyncio.sleep(0.05)
    yield chunk(prompt.answer(1))
    await asyncio.sleep(0.05)
    yield chunk(prompt.answer(tokens).removeprefix(prompt.answer(1)))
    yield f'data: {{"choices":[],"usage":{{"completion_tokens":{tokens}}}}}\n\ndata: [DONE]\n\n'.encode()


async def wrong(request: web.Request, prompt: Prompt, tokens: int) -> AsyncIterator[bytes]:
    yield chunk("nonsense") + b"data: [DONE]\n\n"


async def cut(request: web.Request, prompt: Prompt, tokens: int) -> AsyncIterator[bytes]:
    yield chunk("ba")
    await asyncio.sleep(0.02)
    assert request.transport is not None
    request.transport.abort()


async def silent(request: web.Request, prompt: Prompt, tokens: int) -> AsyncIterator[bytes]:
    yield b": nothing yet\n\n"
    await asyncio.sleep(5)


@asynccontextmanager
async def serving(reply: Reply | None) -> AsyncIterator[Client]:
    """A client of a server that answers with ``reply``, or with 503 if that is None."""

    async def complete(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        headers = {"x-fleetward-zone": "zone-b", "x-fleetward-replica": "replica-b1-0"}
        if reply is None:
            return web.Response(status=503, text="no healthy upstream", headers=headers)
        response = web.StreamResponse(headers={**headers, "x-fleetward-replica-uid": "u1"})
        await response.prepare(request)
        prompt = Prompt(*(message["content"] for message in body["messages"]))
        async for part in reply(request, prompt, body["max_tokens"]):
            await response.write(part)
        return response

    app = web.Application()
    app.router.add_post("/v1/chat/completions", complete)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    async with session() as pool:
        yield Client(pool, f"http://127.0.0.1:{port}", "model", TIME)
    await runner.cleanup()


def asked(reply: Reply | None, tokens: int = 8) -> Request:
    """One request, run to its end."""

    async def main() -> Request:
        request = Request(seq=3, planned_at=TIME(), prompt_tokens=20, planned_tokens=tokens, sent_at=TIME())
        async with serving(reply) as client:
            await client.run(request, Prompts(1).prompt(3, 20))
        return request

    return asyncio.run(main())


def test_a_right_answer_is_timed_from_its_first_token_not_from_the_empty_chunk() -> None:
    request = asked(right)

    assert (request.outcome, request.correct, request.tokens, request.status) == ("ok", True, 8, 200)
    assert (request.zone, request.replica, request.replica_uid) == ("zone-b", "replica-b1-0", "u1")
    assert request.ttft is not None
    assert request.tpot is not None
    assert 0.05 <= request.ttft < 1
    assert 0.05 / 7 <= request.tpot < 0.05
    assert request.effective


def test_a_request_is_told_of_when_it_is_known_where_it_went_and_at_its_first_token() -> None:
    told: list[tuple[str | None, bool]] = []

    async def main() -> None:
        request = Request(seq=3, planned_at=TIME(), prompt_tokens=20, planned_tokens=8, sent_at=TIME())
        async with serving(right) as client:
            prompt = Prompts(1).prompt(3, 20)
            await client.run(
                request, prompt, lambda now: told.append((now.replica_uid, now.first_token_at is not None))
            )

    asyncio.run(main())
    assert told == [("u1", False), ("u1", True)]


def test_a_wrong_answer_is_ok_and_not_correct() -> None:
    request = asked(wrong)

    assert (request.outcome, request.correct, request.effective) == ("ok", False, False)


def test_a_stream_cut_in_the_middle_is_an_error_that_keeps_its_tokens() -> None:
    request = asked(cut)

    assert (request.outcome, request.tokens, request.correct) == ("error", 1, None)
    assert request.ended_at is not None


def test_a_gateways_own_answer_is_an_error_of_the_zone_it_picked() -> None:
    request = asked(None)

    assert (request.outcome, request.status, request.zone) == ("error", 503, "zone-b")
    assert request.error == "HTTP 503: no healthy upstream"


def test_a_client_gives_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "TIMEOUT", 0.2)

    assert asked(silent).outcome == "timeout"


def test_nobody_listening_is_an_error_of_no_zone() -> None:
    async def main() -> Request:
        request = Request(seq=1, planned_at=TIME(), prompt_tokens=4, planned_tokens=2, sent_at=TIME())
        async with session() as pool:
            await Client(pool, "http://127.0.0.1:9", "model", TIME).run(request, Prompt("a b", "c d"))
        return request

    request = asyncio.run(main())
    assert (request.outcome, request.status, request.zone) == ("error", None, None)


class SlowClient:
    """Answers the knock at once and everything else after all have been sent."""

    def __init__(self, expected: int) -> None:
        self.sent: list[Request] = []
        self._expected = expected
        self.all_sent = asyncio.Event()
        self.knocked = asyncio.Event()

    async def run(self, request: Request, prompt: Prompt, told: Tell = _nobody) -> None:
        told(request)
        if request.seq >= 0:
            self.sent.append(request)
            if len(self.sent) == self._expected:
                self.all_sent.set()
            await self.all_sent.wait()
        request.outcome, request.ended_at = "ok", TIME()
        self.knocked.set()


def test_requests_are_sent_on_time_though_none_before_has_ended(tmp_path: Path) -> None:
    offsets = [0.0, 0.02, 0.03, 0.1]
    truth = Truth(tmp_path / "truth.jsonl")

    async def main() -> tuple[float, list[Request]]:
        client = SlowClient(len(offsets))
        plan = Plan(
            lambda index: [Arrival(at, 10, 5) for at in offsets] if index == 0 else [Arrival(1e6, 10, 5)]
        )
        metrics = Metrics(["zone-a"])
        generator = Generator(
            plan, Prompts(1), cast("Client", client), truth, metrics, TIME, Tiers(1, {"batch": 1})
        )
        running = asyncio.create_task(generator.run())
        await client.all_sent.wait()
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert (generator.planned_requests, generator.planned_tokens) == (4, 20)
        return generator.started_at or 0.0, client.sent

    started_at, sent = asyncio.run(main())
    truth.close()

    assert [request.planned_at - started_at for request in sent] == pytest.approx(offsets)
    assert all(0 <= request.sent_at - request.planned_at < 0.2 for request in sent)
    assert [request.seq for request in sent] == [0, 1, 2, 3]


def test_users_of_a_surge_come_beside_the_plan_and_say_their_tier(tmp_path: Path) -> None:
    truth = Truth(tmp_path / "truth.jsonl")

    async def main() -> tuple[Generator, list[Request]]:
        client = SlowClient(6)
        plan = Plan(lambda index: [Arrival(index * 60 + 0.01 * step, 10, 5) for step in range(6000)])
        metrics = Metrics(["zone-a"])
        tiers = Tiers(1, {"interactive": 1})
        generator = Generator(plan, Prompts(1), cast("Client", client), truth, metrics, TIME, tiers)
        with pytest.raises(InvalidInput, match="no user has come yet"):
            generator.put_surge("f", SurgeSpec(factor=3, tier="batch", expires_at=END))
        running = asyncio.create_task(generator.run())
        await client.knocked.wait()
        await asyncio.sleep(0)
        generator.put_surge("f", SurgeSpec(factor=3, tier="batch", expires_at=END))
        generator.put_surge("f", SurgeSpec(factor=3, tier="batch", expires_at=END))
        assert [surge.id for surge in generator.surges()] == ["f"]
        await client.all_sent.wait()
        generator.end_surge("f")
        generator.end_surge("f")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return generator, client.sent

    generator, sent = asyncio.run(main())
    truth.close()
    assert generator.surges() == []
    assert {(request.tier, request.seq >= 1_000_000_000) for request in sent} <= {
        ("batch", True),
        ("interactive", False),
    }
    assert any(request.tier == "batch" for request in sent)


def test_a_surge_can_be_counted_before_it_has_come_and_is_the_same_each_time() -> None:
    plan = Plan(lambda index: [Arrival(index * 60 + step, 10, 5) for step in range(60)])
    surges = [Surge("f", SurgeSpec(factor=2.5, expires_at=END), plan, 1, 90.0, 210.0) for _ in range(2)]
    first, second = ([*surge] for surge in surges)
    assert first == second
    assert [arrival.at for arrival in first] == sorted(arrival.at for arrival in first)
    assert first[0].at >= 90.0
    assert first[-1].at < 210.0
    assert surges[0].count(0.0, 1000.0) == (len(first), 5 * len(first))
    assert len(first) == pytest.approx(1.5 * 120, rel=0.2)


def test_the_mix_of_tiers_is_that_of_the_settings() -> None:
    tiers = Tiers(1, {"interactive": 3, "batch": 1})
    drawn = [tiers.of(index) for index in range(2000)]
    assert drawn.count("batch") / 2000 == pytest.approx(0.25, abs=0.03)
    assert drawn[7] == tiers.of(7)
    assert Tiers(1, {}).of(7) == ""
