"""What a fleet's exporters would have said over days, with outages planted: as arrays, or as text.

vLLM's, Envoy's and kube-state-metrics' names and labels as the lab exports them; the buckets are fewer, as
with vLLM's own `--custom-histogram-buckets`. Everything follows from the seed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from controlplane.model.target import Target

Floats = NDArray[np.float64]
Labels = dict[str, str]

ZONES = ("zone-a", "zone-b", "zone-c")
BEGIN = 1_767_571_200.0  # 2026-01-05, a Monday, 00:00 UTC
HOUR = 3600.0
DAY = 24 * HOUR
OFFSET = 0.4  # seconds from a scrape to the evaluation that finds it
TTFT = (0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
ITL = (0.01, 0.025, 0.05, 0.075, 0.1, 0.5)
TOKENS = 100.0  # of an answer
RATE = 0.8  # requests a second of one replica, at noon


@dataclass(frozen=True)
class Planted:
    """Something that happened: what, to which target, from when (seconds after the begin), for how long."""

    what: Literal["outage", "gray", "hang", "gap", "restart", "spike"]
    target: Target
    at: float
    lasted: float

    @property
    def until(self) -> float:
        return self.at + self.lasted

    def holds(self, times: Floats) -> NDArray[np.bool_]:
        """Tell for each time whether it holds then."""
        since = times - BEGIN
        return np.asarray((since >= self.at) & (since < self.until))


@dataclass
class Series:
    """One series: NaN where it has no sample."""

    name: str
    labels: Labels
    values: Floats


@dataclass
class RecordedFleet:
    """A fleet over some days, scraped each ``interval`` seconds."""

    days: float
    interval: float
    planted: Sequence[Planted] = ()
    nodes: int = 2
    hour: float = 0.0
    """The time of day at the begin, as far as the load goes."""
    seed: int = 7
    times: Floats = field(init=False)
    series: list[Series] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.times = np.arange(BEGIN, BEGIN + self.days * DAY + 0.5, self.interval) - OFFSET
        self._random = np.random.default_rng(self.seed)
        # The scraper itself was away: no target has a sample.
        self._away = self._any("gap", None)
        for zone in ZONES:
            self._zone(zone)

    @property
    def end(self) -> float:
        return BEGIN + self.days * DAY

    def replicas(self) -> list[Target]:
        return [replica for zone in ZONES for replica in self._replicas(zone)]

    def _replicas(self, zone: str) -> list[Target]:
        short = zone.removeprefix("zone-")
        return [
            Target("chat", "local", zone, f"node-{short}{number}", f"replica-{short}{number}-0")
            for number in range(1, self.nodes + 1)
        ]

    def _any(self, what: str, target: Target | None) -> NDArray[np.bool_]:
        found = np.zeros(self.times.size, dtype=bool)
        for each in self.planted:
            if each.what == what and (target is None or each.target.contains(target)):
                found |= each.holds(self.times)
        return found

    def _load(self) -> Floats:
        """Requests a second and replica: few at night, most at noon."""
        hours = self.hour + (self.times - BEGIN) / HOUR
        return np.asarray(RATE * (0.55 - 0.45 * np.cos(2 * np.pi * hours / 24)))

    def _zone(self, zone: str) -> None:
        out = self._any("outage", Target("chat", "local", zone))
        asked = self._random.poisson(self._load() * self.nodes * self.interval).astype(float)
        odd = self._random.binomial(asked.astype(int), 0.001)
        for code, counts in (("2", np.where(out, 0, asked - odd)), ("5", np.where(out, asked, odd))):
            labels = {"service": "chat", "zone": zone, "envoy_response_code_class": code}
            self._add("envoy_cluster_upstream_rq_xx", labels, np.cumsum(counts))
        for replica in self._replicas(zone):
            self._replica(replica)

    def _replica(self, replica: Target) -> None:
        out, hung = self._any("outage", replica), self._any("hang", replica)
        gray, spike = self._any("gray", replica), self._any("spike", replica)
        served = self._random.poisson(self._load() * self.interval).astype(float)
        served[out | hung] = 0.0
        tokens = np.round(served * TOKENS / np.where(gray, 3.0, 1.0))
        names = {"service": "chat", "zone": str(replica.zone), "node": str(replica.node)}
        names |= {"replica": replica.name, "cluster": "local"}
        engine = {**names, "model_name": "m", "engine": "0"}
        fresh = self._fresh(replica)
        for name, counts in (("generation", tokens), ("prompt", served * 300)):
            self._counter(f"vllm:{name}_tokens_total", engine, counts, out, fresh)
        self._counter("vllm:iteration_tokens_total_count", engine, np.ceil(tokens / 4), out, fresh)
        aborted = self._random.binomial(served.astype(int), 0.001).astype(float)
        for reason, counts in (("stop", served - aborted), ("abort", aborted)):
            self._counter(
                "vllm:request_success_total", {**engine, "finished_reason": reason}, counts, out, fresh
            )
        slow = gray | spike
        self._histogram("vllm:time_to_first_token_seconds", engine, served, (TTFT, slow), (out, fresh))
        self._histogram("vllm:inter_token_latency_seconds", engine, tokens, (ITL, slow), (out, fresh))
        running = np.where(hung, 3.0, np.ceil(served / 10))
        self._gauge("vllm:num_requests_running", engine, running, out)
        waiting = np.where(hung, 2.0, np.where(spike, 6.0, 0.0))
        self._gauge("vllm:num_requests_waiting", engine, waiting, out)
        self._gauge("vllm:kv_cache_usage_perc", engine, np.minimum(1.0, running / 8), out)
        up = np.where(out, 0.0, 1.0)
        self._add("up", names, up)
        self._add("kube_pod_status_ready", {"pod": replica.name, "condition": "true"}, up)
        self._add("kube_pod_container_status_restarts_total", {"pod": replica.name}, self._restarts(replica))
        node = {"node": str(replica.node), "condition": "Ready", "status": "true"}
        self._add("kube_node_status_condition", node, up)

    def _ends(self, replica: Target) -> list[float]:
        """Return when the engine began anew: after an outage or a hang, and where a restart is planted."""
        kinds = {"outage", "hang", "restart"}
        mine = [each for each in self.planted if each.what in kinds and each.target.contains(replica)]
        return sorted(BEGIN + each.until for each in mine)

    def _fresh(self, replica: Target) -> list[int]:
        return [int(np.searchsorted(self.times, end)) for end in self._ends(replica)]

    def _restarts(self, replica: Target) -> Floats:
        return np.asarray(np.searchsorted(self._ends(replica), self.times, side="right"), dtype=float)

    def _counter(
        self, name: str, labels: Labels, counts: Floats, out: NDArray[np.bool_], fresh: Sequence[int]
    ) -> None:
        """A counter that begins with zero at each new start, and is not scraped while its engine is away."""
        totals = np.cumsum(counts)
        for start in fresh:
            if 0 < start < totals.size:
                totals[start:] -= totals[start - 1]
        self._add(name, labels, np.where(out, np.nan, totals))

    def _histogram(
        self,
        name: str,
        labels: Labels,
        counts: Floats,
        shape: tuple[Sequence[float], NDArray[np.bool_]],
        life: tuple[NDArray[np.bool_], Sequence[int]],
    ) -> None:
        """Most in the second bucket, some in the third, one in 300 above; slow ones above the third."""
        bounds, slow = shape
        shares = np.array([0.2, 0.97, 0.997, 0.999, 1.0, 1.0])
        slowly = np.array([0.0, 0.0, 0.02, 0.95, 1.0, 1.0])
        if name.endswith("first_token_seconds"):
            slowly = np.array([0.0, 0.3, 0.7, 0.97, 1.0, 1.0])
        for place, bound in enumerate((*bounds, np.inf)):
            share = np.where(slow, slowly[min(place, 5)], shares[min(place, 5)])
            le = "+Inf" if np.isinf(bound) else f"{bound:g}" if bound % 1 else f"{bound:.1f}"
            within = np.minimum(counts, np.ceil(counts * share)) if place < len(bounds) else counts
            self._counter(f"{name}_bucket", {**labels, "le": le}, within, *life)

    def _gauge(self, name: str, labels: Labels, values: Floats, out: NDArray[np.bool_]) -> None:
        self._add(name, labels, np.where(out, np.nan, values))

    def alert(self, name: str, cause: Planted, **labels: str) -> None:
        """Let a rule of Prometheus have fired while something was planted."""
        values = np.where(cause.holds(self.times), 1.0, np.nan)
        more = {"alertname": name, "alertstate": "firing", "service": "chat", **labels}
        self._add("ALERTS", more, values)

    def _add(self, name: str, labels: Labels, values: Floats) -> None:
        self.series.append(Series(name, labels, np.where(self._away, np.nan, values)))

    # ── as text ─────────────────────────────────────────────────────────────────────────────────────────────

    def write(self, folder: Path, hours: float = 2.0) -> list[Path]:
        """Write it as OpenMetrics, a file for each so many hours: promtool makes a block of each."""
        files = []
        for number, (first, last) in enumerate(self._parts(hours)):
            files.append(folder / f"{number:03}.om")
            with files[-1].open("w", encoding="utf-8") as stream:
                stamps = [f" {at:.1f}\n" for at in self.times[first:last].tolist()]
                for one in self.series:
                    stream.write(_lines(one, first, last, stamps))
                stream.write("# EOF\n")
        return files

    def _parts(self, hours: float) -> Iterator[tuple[int, int]]:
        edges = np.arange(BEGIN, self.end + hours * HOUR, hours * HOUR)
        places = [0, *np.searchsorted(self.times, edges).tolist()]
        for first, last in pairwise(places):
            if last > first:
                yield first, last


def _lines(one: Series, first: int, last: int, stamps: Sequence[str]) -> str:
    labels = ",".join(f'{key}="{value}"' for key, value in one.labels.items())
    head = f"{one.name}{{{labels}}} "
    values = one.values[first:last].tolist()
    return "".join(
        [
            f"{head}{value:.12g}{stamp}"
            for value, stamp in zip(values, stamps, strict=True)
            if not math.isnan(value)
        ]
    )
