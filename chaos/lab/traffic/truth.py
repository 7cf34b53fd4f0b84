"""What really happened to each request, as its client saw it.

A request is told of when it was sent, when its answer's headers say where it went, at its first
token, and when it ended; each telling gets a new revision, so that a reader that remembers the
last revision misses nothing. The last 15 minutes are in memory; every ended request is a line of
``truth.jsonl``. Times are unix seconds. It judges nothing but the one thing that must mean the
same everywhere: whether a request was effective.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic.alias_generators import to_camel

Outcome = Literal["ok", "error", "timeout", "open"]

TTFT_OBJECTIVE = 1.0
"""Seconds to the first token."""

TPOT_OBJECTIVE = 0.050
"""Seconds per further token."""

MEMORY = 900.0
"""Seconds that a request stays in memory after its last change."""


@dataclass(slots=True)
class Request:
    """One request; ``ttft`` and ``tpot`` in seconds, None where there was nothing to measure."""

    seq: int
    planned_at: float
    prompt_tokens: int
    planned_tokens: int
    sent_at: float
    tier: str = ""
    rev: int = 0
    outcome: Outcome = "open"
    status: int | None = None
    error: str | None = None
    zone: str | None = None
    replica: str | None = None
    replica_uid: str | None = None
    first_token_at: float | None = None
    ended_at: float | None = None
    tokens: int = 0
    ttft: float | None = None
    tpot: float | None = None
    correct: bool | None = None

    @property
    def effective(self) -> bool:
        """Ended well, right, and within both latency objectives."""
        fast = self.ttft is not None and self.ttft <= TTFT_OBJECTIVE and (self.tpot or 0.0) <= TPOT_OBJECTIVE
        return self.outcome == "ok" and bool(self.correct) and fast

    def json(self) -> str:
        """The request with its judgement, camelCase, on one line."""
        fields: dict[str, Any] = {to_camel(name): value for name, value in asdict(self).items()}
        return json.dumps({**fields, "effective": self.effective}, separators=(",", ":"))


class Truth:
    """The requests of one traffic process. For one thread.

    The JSON of an ended request is made once: a reader that asks for everything must not hold up
    those who send.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = path.open("a", buffering=1)
        self._requests: OrderedDict[int, Request] = OrderedDict()
        self._final: dict[int, str] = {}
        self.rev = 0

    def told(self, request: Request) -> None:
        """Tell of a request that was sent, of where it went, of its first token."""
        self._touch(request)
        self._forget_before(request.sent_at - MEMORY)

    def ended(self, request: Request) -> None:
        """Tell of its end."""
        self._touch(request)
        line = self._final[request.seq] = request.json()
        self._file.write(line + "\n")

    def since(self, rev: int) -> list[str]:
        """JSON of the requests that changed after revision ``rev``, in the order of their changes."""
        changed = []
        for request in reversed(self._requests.values()):
            if request.rev <= rev:
                break
            changed.append(self._final.get(request.seq) or request.json())
        return changed[::-1]

    def close(self) -> None:
        self._file.close()

    def _touch(self, request: Request) -> None:
        self.rev += 1
        request.rev = self.rev
        self._requests[request.seq] = request
        self._requests.move_to_end(request.seq)

    def _forget_before(self, moment: float) -> None:
        # The order is that of changes and a request is open for a minute at most: old ones stand in front.
        while self._requests:
            oldest = next(iter(self._requests.values()))
            if (oldest.ended_at or oldest.sent_at) >= moment:
                return
            del self._requests[oldest.seq]
            self._final.pop(oldest.seq, None)
