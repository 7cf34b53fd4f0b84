"""The canary prober: a known question to every replica, past the gateway's weights, streamed.

It sees the engine that hangs while its health is fine, and speaks for a target that takes
no traffic. It runs in a thread with a loop of its own, one probe in flight per replica and
no more, so that its load is bounded: one short answer per replica and interval. It judges
nothing: `controlplane.observe.probes` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import aiohttp

from controlplane.kernel.clock import Clock
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.observe.probes import Answer, ProbeBook

_LOG = logging.getLogger(__name__)
_NUMBER = re.compile(r"-?\d+")
_LINE_LIMIT = 1 << 16
STOP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Question:
    """A question with one right answer: the first number of the reply."""

    text: str
    answer: int

    @classmethod
    def number(cls, count: int) -> Question:
        """Return the ``count``-th question: sums that change, so that no cache answers for the engine."""
        left, right = 17 + (count * 7) % 71, 25 + (count * 13) % 67
        return cls(f"What is {left}+{right}? Answer with the number only.", left + right)

    def is_right(self, text: str) -> bool:
        found = _NUMBER.search(text)
        return found is not None and int(found.group()) == self.answer


class Prober:
    """Asks every replica it is told of; `book` holds what came of it."""

    def __init__(self, service: Service, clock: Clock) -> None:
        self.book = ProbeBook(service.spec)
        self._service = service
        self._clock = clock
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=f"canary-{service.name}", daemon=True)
        self._tasks: dict[Target, tuple[str, asyncio.Task[None]]] = {}
        self._session: aiohttp.ClientSession | None = None

    def start(self) -> None:
        """Start the thread; nothing is asked before `aim`."""
        self._thread.start()

    def stop(self) -> None:
        """End all probes and the thread."""
        if self._thread.is_alive():
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(STOP_SECONDS)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(STOP_SECONDS)
        if not self._loop.is_running():
            self._loop.close()

    def aim(self, replicas: Mapping[Target, str]) -> None:
        """Say which replicas there are, and where; new ones are asked soon, gone ones no more."""
        self._loop.call_soon_threadsafe(self._aim, dict(replicas))

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _close(self) -> None:
        tasks = [task for _, task in self._tasks.values()]
        self._tasks.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    def _aim(self, replicas: dict[Target, str]) -> None:
        for target, (address, task) in list(self._tasks.items()):
            if replicas.get(target) != address or task.done():
                task.cancel()
                del self._tasks[target]
        fresh = [target for target in replicas if target not in self._tasks]
        every = self._service.spec.canary.every
        for index, target in enumerate(fresh):
            work = self._keep_asking(target, replicas[target], every * index / len(fresh))
            self._tasks[target] = (replicas[target], self._loop.create_task(work))

    async def _keep_asking(self, target: Target, address: str, offset: float) -> None:
        canary = self._service.spec.canary
        due = self._loop.time() + offset
        count = 0
        while True:
            await asyncio.sleep(max(0.0, due - self._loop.time()))
            await self._ask(target, address, Question.number(count))
            count += 1
            due = max(due + canary.every, self._loop.time())

    async def _ask(self, target: Target, address: str, question: Question) -> None:
        started = self._now()
        self.book.asked(target, started)
        try:
            async with asyncio.timeout(self._service.spec.canary.timeout):
                answer = await self._converse(target, address, question, started)
        except asyncio.CancelledError:
            self.book.abandoned(target)
            raise
        except TimeoutError:
            answer = Answer(started, self._now(), "timeout", detail="no complete answer in time")
        except aiohttp.ClientConnectorError as error:
            answer = Answer(started, self._now(), "refused", detail=f"not reached: {error.strerror or error}")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            answer = Answer(started, self._now(), "error", detail=f"{type(error).__name__}: {error}"[:200])
        except Exception as error:  # noqa: BLE001 - one odd answer must not end the asking
            _LOG.exception("the canary of %s failed by its own mistake", target)
            answer = Answer(started, self._now(), "error", detail=f"the prober failed: {error!r}"[:200])
        self.book.answered(target, answer)

    async def _converse(self, target: Target, address: str, question: Question, started: float) -> Answer:
        body = {
            "model": self._service.spec.model,
            "messages": [{"role": "user", "content": question.text}],
            "max_tokens": self._service.spec.canary.max_tokens,
            "temperature": 0,
            "stream": True,
        }
        text, times = "", list[float]()
        url = f"{address}/v1/chat/completions"
        async with self._client().post(url, json=body) as response:
            if response.status != 200:
                return Answer(started, self._now(), "error", detail=f"status {response.status}")
            async for piece in _contents(response):
                times.append(self._now())
                if len(times) == 1:
                    self.book.first_token(target, times[0])
                text += piece
        ended = self._now()
        ttft = times[0] - started if times else None
        tpot = (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else None
        right = question.is_right(text)
        detail = "" if right else f"asked {question.text!r}, got {text[:60]!r}"
        kind = self.book.judge(ttft, tpot, right=right)
        if kind == "slow":
            detail = f"slow: TTFT {ttft or 0:.2f} s, TPOT {1000 * (tpot or 0):.0f} ms"
        return Answer(started, ended, kind, ttft, tpot, len(times), detail)

    def _client(self) -> aiohttp.ClientSession:
        if self._session is None:
            # A new connection each time: a reused one may be dead, and would blame the engine for it.
            connector = aiohttp.TCPConnector(limit=0, force_close=True)
            self._session = aiohttp.ClientSession(connector=connector, read_bufsize=_LINE_LIMIT)
        return self._session

    def _now(self) -> float:
        return self._clock.now().timestamp()


async def _contents(response: aiohttp.ClientResponse) -> AsyncIterator[str]:
    """Yield the pieces of text of an OpenAI stream."""
    async for line in response.content:
        if not line.startswith(b"data:"):
            continue
        data = line[5:].strip()
        if data == b"[DONE]":
            return
        chunk = json.loads(data)
        if "error" in chunk:
            msg = f"the engine says {chunk['error']}"
            raise ValueError(msg)
        with contextlib.suppress(LookupError, TypeError):
            piece = chunk["choices"][0]["delta"].get("content")
            if piece:
                yield piece
