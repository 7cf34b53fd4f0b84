"""One request over the wire: sent, streamed, timed, and its answer checked.

Costs are kept low by looking at a chunk's bytes only, until the stream has ended: the first and
last chunk with content give the times, and the events are parsed once, at the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import aiohttp

from chaos.lab.traffic.prompts import Prompt
from chaos.lab.traffic.tiers import TIER_HEADER
from chaos.lab.traffic.truth import Request
from controlplane.kernel.clock import Clock

TIMEOUT = 60.0
"""Seconds until a client gives up, from sending to the last byte."""

_CONTENT = b'"content":"'
_EMPTY = b'"content":""'


class Answer(NamedTuple):
    """What a stream said: its text, its tokens as the engine counted them, and whether it was whole."""

    text: str
    tokens: int
    complete: bool
    error: str | None


class UnixTime:
    """Unix seconds that never go backwards: the wall clock once, the monotonic clock from then on."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._origin = clock.now().timestamp() - clock.monotonic()

    def __call__(self) -> float:
        return self._origin + self._clock.monotonic()


Tell = Callable[[Request], None]


def _nobody(_: Request) -> None:
    """Tell nobody."""


class Client:
    """Sends requests through one session to one gateway."""

    def __init__(self, session: aiohttp.ClientSession, gateway: str, model: str, time: UnixTime) -> None:
        self._session = session
        self._url = f"{gateway}/v1/chat/completions"
        self._model = model
        self._time = time

    async def run(self, request: Request, prompt: Prompt, told: Tell = _nobody) -> None:
        """Send ``request`` and fill in what became of it. Never raises but when cancelled.

        ``told`` is called when the answer's headers have said where it went, and at its first token.
        """
        try:
            await self._stream(request, prompt, told)
        except TimeoutError:
            request.outcome, request.error = "timeout", f"no end within {TIMEOUT:.0f} s"
        except (aiohttp.ClientError, OSError) as error:
            request.outcome, request.error = "error", f"{type(error).__name__}: {error}"[:200]
        request.ended_at = self._time()

    async def _stream(self, request: Request, prompt: Prompt, told: Tell) -> None:
        body = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
            "max_tokens": request.planned_tokens,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        timeout = aiohttp.ClientTimeout(total=TIMEOUT)
        headers = {TIER_HEADER: request.tier} if request.tier else {}
        async with self._session.post(self._url, json=body, headers=headers, timeout=timeout) as response:
            request.status = response.status
            told_by = response.headers
            request.zone = told_by.get("x-fleetward-zone")
            request.replica = told_by.get("x-fleetward-replica")
            request.replica_uid = told_by.get("x-fleetward-replica-uid")
            told(request)
            if response.status != 200:
                text = (await response.content.read(500)).decode(errors="replace")
                request.outcome, request.error = "error", f"HTTP {response.status}: {text}"[:200]
                return
            chunks: list[bytes] = []
            first = last = None
            try:
                async for chunk in response.content.iter_any():
                    chunks.append(chunk)
                    if _CONTENT in chunk and (first is not None or _has_token(chunk)):
                        last = self._time()
                        if first is None:
                            first = request.first_token_at = last
                            told(request)
            finally:
                self._judge(request, prompt, read_events(b"".join(chunks)), first, last)

    def _judge(
        self, request: Request, prompt: Prompt, answer: Answer, first: float | None, last: float | None
    ) -> None:
        request.tokens = answer.tokens
        if first is not None and last is not None:
            request.first_token_at = first
            request.ttft = first - request.sent_at
            request.tpot = (last - first) / (answer.tokens - 1) if answer.tokens > 1 else None
        if answer.error or not answer.complete:
            request.outcome, request.error = "error", answer.error or "the stream ended early"
            return
        request.outcome = "ok"
        request.correct = answer.text == prompt.answer(request.planned_tokens)


def _has_token(chunk: bytes) -> bool:
    """Whether a chunk holds content beside the empty one that opens a chat's stream."""
    return chunk.count(_CONTENT) > chunk.count(_EMPTY)


def read_events(stream: bytes) -> Answer:
    """Read a whole SSE stream of chat completion chunks; what cannot be read counts as an error."""
    texts: list[str] = []
    usage: int | None = None
    complete = False
    for block in stream.split(b"\n\n"):
        if not block.startswith(b"data: "):
            continue
        data = block[6:]
        if data == b"[DONE]":
            complete = True
            continue
        try:
            event: dict[str, Any] = json.loads(data)
            if "error" in event:
                return Answer("".join(texts), len(texts), complete=False, error=str(event["error"])[:200])
            texts += [text for choice in event["choices"] if (text := choice["delta"].get("content"))]
            usage = (event.get("usage") or {}).get("completion_tokens", usage)
        except (ValueError, LookupError, TypeError, AttributeError):
            return Answer("".join(texts), len(texts), complete=False, error=f"unreadable: {data[:80]!r}")
    return Answer("".join(texts), len(texts) if usage is None else usage, complete, None)
