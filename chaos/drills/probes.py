"""Where a drill's evidence comes from: the traffic generator's truth, and plain PromQL.

`TruthFeed` keeps the rows of the last quarter of an hour and asks only for what changed;
`query` asks Prometheus for one number. `report_probe` says how a probe of the hypothesis did in
one phase. Nothing here is shared with what the control plane observes or decides with.

Errors: `Unavailable` when a source does not answer; an answer that makes no sense is that too.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable
from typing import Any

import httpx
from pydantic import Field, ValidationError

from chaos.drills.truth import Request, Truth
from controlplane.kernel.errors import Unavailable
from controlplane.model.base import Model
from controlplane.model.drill import (
    EffectiveShareProbe,
    FailedRequestsProbe,
    FirstTokenProbe,
    PrometheusProbe,
)
from controlplane.model.report import Phase, ProbeReport
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


def effective_share(
    probe: EffectiveShareProbe, phase: Phase, truth: Truth, moments: Iterable[float]
) -> ProbeReport:
    """Judge the effective share of the probe's window ending at each of ``moments``; the worst counts."""
    shares = [truth.share(end - probe.window, end) for end in moments]
    values = [share.settled for share in shares if share.settled is not None]
    demanded = f"at least {probe.at_least:.0%} over {probe.window:g} s{_whose(probe.tiers)}"
    if not values:
        return ProbeReport(name=probe.name, phase=phase, good=None, tolerance=demanded, detail="no requests")
    worst = min(values)
    return ProbeReport(
        name=probe.name, phase=phase, good=worst >= probe.at_least, value=values[-1], worst=worst,
        tolerance=demanded, samples=len(values),
    )  # fmt: skip


def first_token(probe: FirstTokenProbe, phase: Phase, truth: Truth, start: float, end: float) -> ProbeReport:
    """Judge the longest wait for a first token among the requests planned in [start, end).

    Still waiting, or ended without one, counts as the wait so far. An open request that may
    yet wait too long leaves the answer open.
    """
    rows = truth.between(start, end)
    waits = [row.first_token_wait(truth.now) for row in rows]
    demanded = f"no first token later than {probe.within:g} s{_whose(probe.tiers)}"
    if not waits:
        return ProbeReport(name=probe.name, phase=phase, good=None, tolerance=demanded, detail="no requests")
    worst = max(waits)
    over = sum(wait > probe.within for wait in waits)
    waiting = any(row.outcome == "open" and row.first_token_at is None for row in rows)
    return ProbeReport(
        name=probe.name, phase=phase, good=False if over else None if waiting else True, value=worst,
        worst=worst, tolerance=demanded, samples=len(waits), detail=f"{over} waited longer" if over else "",
    )  # fmt: skip


def failed_requests(
    probe: FailedRequestsProbe, phase: Phase, truth: Truth, start: float, end: float
) -> ProbeReport:
    """Count the requests planned in [start, end) that ended in an error, a time-out or a wrong answer.

    One that is still open may yet end so, and leaves the answer open.
    """
    rows = truth.between(start, end)
    demanded = f"at most {probe.at_most} failed requests"
    if not rows:
        return ProbeReport(name=probe.name, phase=phase, good=None, tolerance=demanded, detail="no requests")
    failed = [row for row in rows if row.failed]
    waiting = any(row.outcome == "open" for row in rows)
    over = len(failed) > probe.at_most
    first = failed[0] if failed else None
    return ProbeReport(
        name=probe.name, phase=phase, good=False if over else None if waiting else True, value=len(failed),
        worst=len(failed), tolerance=demanded, samples=len(rows),
        detail="" if first is None else f"the first: {first.outcome} at {first.replica or first.zone}",
    )  # fmt: skip


def within(probe: PrometheusProbe, phase: Phase, values: Iterable[float | None]) -> ProbeReport:
    """Judge the values that a query gave; without any nobody can tell."""
    low, high = probe.tolerance
    known = [value for value in values if value is not None]
    demanded = f"between {low:g} and {high:g}"
    if not known:
        return ProbeReport(name=probe.name, phase=phase, good=None, tolerance=demanded, detail="no samples")
    worst = max(known, key=lambda value: max(low - value, value - high))
    return ProbeReport(
        name=probe.name, phase=phase, good=low <= worst <= high, value=known[-1], worst=worst,
        tolerance=demanded, samples=len(known),
    )  # fmt: skip


def _whose(tiers: tuple[str, ...]) -> str:
    return f" for {', '.join(tiers)}" if tiers else ""
