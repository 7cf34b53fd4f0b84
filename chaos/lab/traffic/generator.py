"""The open loop: every request is sent at its planned time, whatever became of those before it.

That is what makes overload overload: users do not wait for each other. How late a request was
sent is recorded, because a generator that cannot keep up would otherwise measure itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from itertools import count
from typing import Any

import aiohttp

from chaos.lab.layout import Layout
from chaos.lab.traffic.arrivals import Arrival, Plan, azure_trace, synthetic_day
from chaos.lab.traffic.client import Client, UnixTime
from chaos.lab.traffic.metrics import Metrics
from chaos.lab.traffic.prompts import Prompts
from chaos.lab.traffic.surge import Surge, SurgeSpec
from chaos.lab.traffic.tiers import Tiers
from chaos.lab.traffic.truth import Request, Truth
from controlplane.kernel.errors import InvalidInput

_LEAD = 0.5  # seconds between the first answer and the plan's start
_KNOCK_EVERY = 0.25  # seconds between tries while the gateway is not up
_EXTRA = 1_000_000_000  # number of the first request beside the plan


def plan_of(layout: Layout) -> Plan:
    """The plan that a lab's settings ask for. Raises InvalidInput for a bad trace."""
    settings = layout.settings
    if settings.trace is not None:
        return azure_trace(settings.trace, settings.rate_factor)
    return synthetic_day(settings.seed, settings.request_rate, settings.output_tokens)


class Generator:
    """Sends a plan's requests and tells the truth about each."""

    def __init__(
        self,
        plan: Plan,
        prompts: Prompts,
        client: Client,
        truth: Truth,
        metrics: Metrics,
        time: UnixTime,
        tiers: Tiers,
    ) -> None:
        self.plan = plan
        self._prompts = prompts
        self._tiers = tiers
        self._client = client
        self._truth = truth
        self._metrics = metrics
        self._time = time
        self._surges: dict[str, Surge] = {}
        self._past: list[Surge] = []
        self._extra = count(_EXTRA)
        self._under_way: set[asyncio.Task[None]] = set()
        self.started_at: float | None = None
        self.planned_requests = 0
        self.planned_tokens = 0

    async def run(self) -> None:
        """Wait for the service to answer once (not counted), then send until cancelled."""
        await self._knock()
        self.started_at = self._time() + _LEAD
        try:
            for index, arrival in enumerate(self.plan):
                due = self.started_at + arrival.at
                await asyncio.sleep(max(0.0, due - self._time()))
                self._begin(self._send(index, arrival, due, self._tiers.of(index)))
        finally:
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    # ── surges ──────────────────────────────────────────────────────────────────────────────────────────────

    def put_surge(self, identifier: str, spec: SurgeSpec) -> None:
        """Let more users come; again with the same id only moves its end. Raises `InvalidInput`."""
        if self.started_at is None:
            raise InvalidInput("no user has come yet: there is nothing to multiply")
        now, end = self._time() - self.started_at, spec.expires_at.timestamp() - self.started_at
        if end <= now:
            raise InvalidInput(f"surge {identifier} would be over already")
        if identifier in self._surges:
            self._surges[identifier].end = end
            return
        surge = self._surges[identifier] = Surge(identifier, spec, self.plan, self._prompts.seed, now, end)
        self._begin(self._follow(surge, self.started_at))

    def end_surge(self, identifier: str) -> None:
        """End a surge now; nothing when there is none. Who has come already is served."""
        surge = self._surges.pop(identifier, None)
        if surge is not None and self.started_at is not None:
            surge.end = min(surge.end, self._time() - self.started_at)
            self._past.append(surge)

    def surges(self) -> list[Surge]:
        """The surges under way."""
        return list(self._surges.values())

    def count(self, begin: float, end: float) -> tuple[int, int]:
        """Requests and output tokens that come in [begin, end), seconds since the plan's start, all told."""
        parts = [self.plan.count(begin, end)]
        parts += [surge.count(begin, end) for surge in (*self._past, *self._surges.values())]
        return sum(requests for requests, _ in parts), sum(tokens for _, tokens in parts)

    async def _follow(self, surge: Surge, started_at: float) -> None:
        for arrival in surge:
            due = started_at + arrival.at
            await asyncio.sleep(max(0.0, due - self._time()))
            if arrival.at >= surge.end:
                break
            index = next(self._extra)
            surge.sent += 1
            self._begin(self._send(index, arrival, due, surge.spec.tier or self._tiers.of(index)))
        self.end_surge(surge.id)

    # ── requests ────────────────────────────────────────────────────────────────────────────────────────────

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _send(self, index: int, arrival: Arrival, due: float, tier: str) -> None:
        prompt = self._prompts.prompt(index, arrival.prompt_tokens)
        request = Request(
            seq=index, planned_at=due, prompt_tokens=arrival.prompt_tokens,
            planned_tokens=arrival.output_tokens, sent_at=self._time(), tier=tier,
        )  # fmt: skip
        self.planned_requests += 1
        self.planned_tokens += arrival.output_tokens
        self._metrics.planned_requests.inc()
        self._metrics.planned_tokens.inc(arrival.output_tokens)
        self._metrics.lateness.observe(request.sent_at - due)
        self._truth.told(request)
        with self._metrics.open.track_inprogress():
            await self._client.run(request, prompt, self._truth.told)
        self._truth.ended(request)
        self._metrics.observe(request)

    async def _knock(self) -> None:
        while True:
            request = Request(seq=-1, planned_at=0.0, prompt_tokens=2, planned_tokens=1, sent_at=self._time())
            await self._client.run(request, self._prompts.prompt(-1, 2))
            if request.outcome == "ok":
                return
            await asyncio.sleep(_KNOCK_EVERY)


def session() -> aiohttp.ClientSession:
    """One pool of keep-alive connections without a limit: users do not queue for sockets."""
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), auto_decompress=False)
