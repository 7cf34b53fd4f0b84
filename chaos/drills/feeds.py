"""Where a drill's evidence comes from: the traffic generator's truth, and plain PromQL.

`TruthFeed` keeps the rows of the last quarter of an hour and asks only for what changed;
`Queries` asks Prometheus for one number. Nothing here is shared with what the control plane
observes or decides with.

Errors: `Unavailable` when a source does not answer; an answer that makes no sense is that too.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import httpx
from pydantic import Field, ValidationError

from chaos.drills.truth import Request, Truth
from controlplane.kernel.errors import Unavailable
from controlplane.model.base import Model
from controlplane.model.service import Objectives

TIMEOUT = 4.0
"""Seconds for one call; under the lease of a run, with room for others."""
MEMORY = 900.0
"""Seconds of truth that are kept, as long as the traffic generator keeps its own."""


class _Answer(Model):
    """Body of ``GET /truth``; each telling of a request has a new ``rev``."""

    now: float
    rev: int
    requests: list[dict[str, Any]] = Field(default_factory=list)


class TruthFeed:
    """The rows of one traffic generator, kept up to date by revision. Safe to share between threads."""

    def __init__(self, url: str, client: httpx.Client | None = None) -> None:
        self._url = url.rstrip("/")
        self._client = client or httpx.Client(timeout=TIMEOUT, trust_env=False)
        self._lock = threading.Lock()
        self._rows: dict[int, Request] = {}
        self._rev = 0

    def read(self, since: float, objectives: Objectives) -> Truth:
        """Return the requests planned from ``since`` on, as known now. Raises `Unavailable`."""
        with self._lock:
            answer = self._fetch()
            if answer.rev < self._rev:  # the generator was started anew: its old rows are gone
                self._rows, self._rev = {}, 0
                answer = self._fetch()
            rows = [Request.model_validate(row) for row in answer.requests]
            self._rows.update((row.seq, row) for row in rows)
            self._rev = answer.rev
            keep = answer.now - MEMORY
            self._rows = {seq: row for seq, row in self._rows.items() if row.planned_at >= keep}
            chosen = [row for row in self._rows.values() if row.planned_at >= since]
        return Truth(chosen, now=answer.now, objectives=objectives)

    def planned_tokens(self, start: float, end: float) -> float | None:
        """Return the output tokens that were planned to arrive in [start, end), sent or not."""
        try:
            response = self._client.get(f"{self._url}/plan", params={"from": start, "to": end})
            return float(response.raise_for_status().json()["tokens"])
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            raise Unavailable(f"the traffic generator did not tell its plan: {error}") from error

    def _fetch(self) -> _Answer:
        try:
            response = self._client.get(f"{self._url}/truth", params={"since": self._rev})
            body = response.raise_for_status().json()
            return _Answer.model_validate({name: body[name] for name in ("now", "rev", "requests")})
        except (httpx.HTTPError, ValueError, LookupError, TypeError, ValidationError) as error:
            raise Unavailable(f"the traffic generator did not tell the truth: {error}") from error


class Queries:
    """Plain PromQL against one Prometheus."""

    def __init__(self, url: str, client: httpx.Client | None = None) -> None:
        self._url = url.rstrip("/")
        self._client = client or httpx.Client(timeout=TIMEOUT, trust_env=False)

    def instant(self, query: str) -> float | None:
        """Return the one value of ``query`` now; None without samples or for NaN. Raises `Unavailable`."""
        try:
            response = self._client.get(f"{self._url}/api/v1/query", params={"query": query})
            data = response.raise_for_status().json()["data"]
            result = data["result"]
            sample = result if data["resultType"] == "scalar" else result[0]["value"] if result else None
            value = None if sample is None else float(sample[1])
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            raise Unavailable(f"Prometheus did not answer `{query[:80]}`: {error}") from error
        return None if value is None or math.isnan(value) else value
