"""The open loop: every request is sent at its planned time, whatever became of those before it.

That is what makes overload overload: users do not wait for each other. How late a request was
sent is recorded, because a generator that cannot keep up would otherwise measure itself.
"""

from __future__ import annotations

import asyncio

import aiohttp

from chaos.lab.layout import Layout
from chaos.lab.traffic.arrivals import Arrival, Plan, azure_trace, synthetic_day
from chaos.lab.traffic.client import Client, UnixTime
from chaos.lab.traffic.metrics import Metrics
from chaos.lab.traffic.prompts import Prompts
from chaos.lab.traffic.truth import Request, Truth

_LEAD = 0.5  # seconds between the first answer and the plan's start
_KNOCK_EVERY = 0.25  # seconds between tries while the gateway is not up


def plan_of(layout: Layout) -> Plan:
    """The plan that a lab's settings ask for. Raises InvalidInput for a bad trace."""
    settings = layout.settings
    if settings.trace is not None:
        return azure_trace(settings.trace, settings.rate_factor)
    return synthetic_day(settings.seed, settings.request_rate, settings.output_tokens)


class Generator:
    """Sends a plan's requests and tells the truth about each."""

    def __init__(
        self, plan: Plan, prompts: Prompts, client: Client, truth: Truth, metrics: Metrics, time: UnixTime
    ) -> None:
        self.plan = plan
        self._prompts = prompts
        self._client = client
        self._truth = truth
        self._metrics = metrics
        self._time = time
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
                task = asyncio.create_task(self._send(index, arrival, due))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)
        finally:
            for task in self._under_way:
                task.cancel()
            await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _send(self, index: int, arrival: Arrival, due: float) -> None:
        prompt = self._prompts.prompt(index, arrival.prompt_tokens)
        request = Request(
            seq=index, planned_at=due, prompt_tokens=arrival.prompt_tokens,
            planned_tokens=arrival.output_tokens, sent_at=self._time(),
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
