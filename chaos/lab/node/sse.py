"""A streamed answer: one server-sent event per token, cut from fragments made once per request.

Events go straight to the connection, each as one HTTP chunk, without a task switch per
token. That leaves out back-pressure: what a client does not read is buffered, bounded by
the answer's length, and the engine does not wait for it, as vLLM's does not.
"""

from __future__ import annotations

import asyncio
import json

from chaos.lab.engine.request import FinishReason, Request
from chaos.lab.node.openai_api import Call

_MARK = "\x00"  # stands where a token's text goes; JSON writes it as \\u0000
_DONE = b"data: [DONE]\n\n"


class Stream:
    """Writes one request's events to a transport. ``done`` resolves after the last one is written."""

    def __init__(
        self,
        call: Call,
        identifier: str,
        created: int,
        model: str,
        transport: asyncio.Transport,
        *,
        chunked: bool,
    ) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._call = call
        self._transport = transport
        self._chunked = chunked
        self._head = {
            "id": identifier,
            "object": "chat.completion.chunk" if call.chat else "text_completion",
            "created": created,
            "model": model,
        }
        self._before, self._after = self._fragments(None)

    def token(self, request: Request) -> None:
        """Send the newest token, with the opening before the first and the ending after the last."""
        index = request.emitted - 1
        parts = []
        if index == 0 and self._call.chat:
            parts.append(self._event(self._opening()))
        before, after = self._before, self._after
        last = request.finish_reason is not None
        if last:
            before, after = self._fragments(request.finish_reason)
        text = json.dumps(self._call.pieces[index])[1:-1].encode()
        parts.append(before + text + after)
        if last:
            if self._call.include_usage:
                parts.append(self._event({**self._head, "choices": [], "usage": self._call.usage()}))
            parts.append(_DONE)
        if not self._transport.is_closing():
            self._transport.write(b"".join(map(self._frame, parts)))
        if last and not self.done.done():
            self.done.set_result(None)

    def _frame(self, event: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(event), event) if self._chunked else event

    def _fragments(self, reason: FinishReason | None) -> tuple[bytes, bytes]:
        content = {"delta": {"content": _MARK}} if self._call.chat else {"text": _MARK}
        choice = {"index": 0, **content, "logprobs": None, "finish_reason": reason}
        before, after = self._event({**self._head, "choices": [choice]}).split(b"\\u0000")
        return before, after

    def _opening(self) -> dict[str, object]:
        delta = {"role": "assistant", "content": ""}
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
        return {**self._head, "choices": [choice]}

    @staticmethod
    def _event(document: dict[str, object]) -> bytes:
        return b"data: " + json.dumps(document, separators=(",", ":")).encode() + b"\n\n"


class Whole:
    """Waits for a request's last token; ``done`` resolves with it."""

    def __init__(self) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def token(self, request: Request) -> None:
        """Note the end."""
        if request.finish_reason is not None and not self.done.done():
            self.done.set_result(None)
