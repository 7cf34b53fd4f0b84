"""The picture of the fleet that the controller leaves behind each tick, and every console reads.

It is the controller's own view, with the values it decided on, so that what operators see
and what automation acted on cannot differ. It refuses to hold what has a table of its own
(incidents, runs, halts): those are read live. Units: seconds, ratios 0..1, tokens.
A reading that is not known is None, never zero.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from controlplane.model.base import Model

OVERVIEW = "overview"
"""The name of the snapshot that holds an `Overview`."""


class Health(StrEnum):
    """How a part of the fleet does, as far as is known."""

    HEALTHY = "healthy"
    PROGRESSING = "progressing"
    """On its way: loading a model, ramping up."""
    DEGRADED = "degraded"
    """It serves, and breaks an objective."""
    FAILED = "failed"
    """It does not serve."""
    SUSPENDED = "suspended"
    """Taken out of service on purpose, by a run or a person."""
    UNKNOWN = "unknown"
    """Not measured: not healthy, and not bad."""


class Readings(Model):
    """What a part yields now, over the controller's short window."""

    etpm: float | None = Field(default=None, description="effective output tokens per minute")
    tokens_per_second: float | None = Field(default=None, description="output tokens per second")
    success_rate: float | None = Field(default=None, description="requests ended without error, 0..1")
    ttft_p95: float | None = Field(default=None, description="TTFT, 95th percentile, seconds")
    tpot_p95: float | None = Field(default=None, description="TPOT, 95th percentile, seconds")
    running: float | None = Field(default=None, description="requests in the batches")
    queue: float | None = Field(default=None, description="requests waiting")
    kv_use: float | None = Field(default=None, description="share of the KV cache in use, 0..1")


class ReplicaCell(Model):
    """One engine. ``canary`` is the last probe's verdict: True right and in time, None not probed."""

    name: str
    target: str
    uid: str
    health: Health
    reason: str | None = None
    canary: bool | None = None
    readings: Readings = Readings()


class NodeCell(Model):
    """One machine; ``ready`` and ``schedulable`` are the platform's words, ``health`` is ours."""

    name: str
    target: str
    ready: bool
    schedulable: bool
    health: Health
    reason: str | None = None
    replicas: tuple[ReplicaCell, ...] = ()


class ZoneCell(Model):
    """``weight`` as written to the gateway (0..100), ``share`` of new requests (0..1).

    ``holder`` is the run or the drill's fault that holds the zone out of service.
    """

    name: str
    target: str
    weight: int
    share: float
    health: Health
    reason: str | None = None
    holder: str | None = None
    readings: Readings = Readings()
    nodes: tuple[NodeCell, ...] = ()


class Headline(Model):
    """The service as a whole. ``etpm_estimate`` is tokens/min x success x latency rate, from rates alone."""

    etpm: float | None = None
    etpm_estimate: float | None = None
    tokens_per_second: float | None = None
    success_rate: float | None = None
    ttft_p95: float | None = None
    tpot_p95: float | None = None


class HistoryPoint(Headline):
    """The headline as it was at ``at``."""

    at: datetime


class SourceState(Model):
    """A source of observation: fresh, stale or lost, and when it last answered."""

    name: str
    state: Literal["fresh", "stale", "lost"]
    last_at: datetime | None = None
    detail: str | None = None


class Overview(Model):
    """The fleet of one service as of ``evaluated_at`` (the tick's time less its lag)."""

    service: str
    cluster: str
    tick_at: datetime
    evaluated_at: datetime
    headline: Headline = Headline()
    zones: tuple[ZoneCell, ...] = ()
    history: tuple[HistoryPoint, ...] = Field(default=(), description="oldest first, the last 15 min")
    sources: tuple[SourceState, ...] = ()
