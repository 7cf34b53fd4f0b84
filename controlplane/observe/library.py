"""The indicators: what each means, its formula, its unit, its source, and how it is made of measures.

Ratios are pairs of counts (good, total) and can carry objectives; values are single
numbers for thresholds and people. Those that decisions lean on are written here, the other
indicators of the catalogue join them. An indicator that is not in here does not exist.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from controlplane.observe.catalogue import catalogue

LATENCIES = ("ttft", "itl", "tpot", "e2e")
STATES = ("availability", "stalled", "canary")
"""Indicators that say what each replica is at a tick, rather than count events."""

ENGINE, GATEWAY, CLUSTER, CANARY, GPU, CLIENTS = "engine", "gateway", "cluster", "canary", "gpu", "clients"
"""Sources of observation: they fail apart, so that two of them saying the same is more than one."""


@dataclass(frozen=True, slots=True)
class Indicator:
    """One indicator. ``sources``: any of these being fresh gives it data."""

    name: str
    kind: Literal["ratio", "value"]
    unit: str
    formula: str
    sources: tuple[str, ...]


def _latency(name: str, what: str) -> Indicator:
    formula = f"{what} at most the SLO's threshold / all {what.split(' ', 1)[0]} observations"
    return Indicator(name, "ratio", "share of observations", formula, (ENGINE,))


_ALL = (
    _latency("ttft", "TTFT (arrival at the engine to the first token, queue included)"),
    _latency("itl", "ITL (time between two output events; sees a slow step at once)"),
    _latency("tpot", "TPOT (per request, (e2e - ttft) / (n - 1), observed when the request ends)"),
    _latency("e2e", "E2E (arrival at the engine to the last token)"),
    Indicator(
        "success",
        "ratio",
        "share of requests",
        "zone and service: (gateway 2xx - engine aborts and errors in mid-stream) / (2xx + 5xx); "
        "node and replica: finished (stop, length, repetition) / finished. 4xx are the client's own",
        (GATEWAY, ENGINE),
    ),
    Indicator(
        "availability",
        "ratio",
        "share of replica-ticks",
        "replicas that answer their scrape and are ready / replicas there should be, one sample each tick",
        (ENGINE, CLUSTER),
    ),
    Indicator(
        "stalled",
        "ratio",
        "share of replica-ticks",
        "stalled: work queued over two scrapes and no step, token or prompt token between them, or a canary "
        "that is overdue while the replica answers its scrape and was not seen to move. As an objective the "
        "share of replica-ticks that were not; as a threshold the share of replicas that are now",
        (ENGINE, CANARY),
    ),
    Indicator(
        "canary",
        "ratio",
        "share of replica-ticks",
        "replicas whose last known question was answered rightly and in time / replicas asked",
        (CANARY,),
    ),
    Indicator("tokens_per_second", "value", "tokens/s", "rate of output tokens", (ENGINE,)),
    Indicator(
        "etpm",
        "value",
        "tokens/min",
        "effective output tokens as clients counted them, where they do; otherwise unknown",
        (CLIENTS,),
    ),
    Indicator(
        "etpm_estimate",
        "value",
        "tokens/min",
        "output tokens/min (canaries' own left out) x success x quality (canary) x min(TTFT, TPOT within "
        "objective): an estimate, since rates do not say which tokens were whose",
        (ENGINE,),
    ),
    Indicator("ttft_p95", "value", "s", "95th percentile of TTFT, interpolated in its bucket", (ENGINE,)),
    Indicator("itl_p95", "value", "s", "95th percentile of ITL, interpolated in its bucket", (ENGINE,)),
    Indicator("tpot_p95", "value", "s", "95th percentile of TPOT, interpolated in its bucket", (ENGINE,)),
    Indicator("e2e_p95", "value", "s", "95th percentile of E2E, interpolated in its bucket", (ENGINE,)),
    Indicator(
        "ttft_mean_floor",
        "value",
        "s",
        "mean time in the queue + mean prefill, for engines without a histogram of TTFT: never more than it",
        (ENGINE,),
    ),
    Indicator(
        "e2e_mean",
        "value",
        "s",
        "sum of durations / finished requests, for engines without a histogram",
        (ENGINE,),
    ),
    Indicator("running", "value", "requests", "requests in the engines' batches", (ENGINE,)),
    Indicator("queue", "value", "requests", "requests waiting in the engines", (ENGINE,)),
    Indicator("kv_use", "value", "ratio", "KV cache in use; of wider targets the mean", (ENGINE,)),
    Indicator(
        "restarts",
        "value",
        "starts",
        "starts of containers after their first, within the last two minutes",
        (CLUSTER,),
    ),
    Indicator(
        "node_ready",
        "value",
        "ratio",
        "1 while the cluster calls the node ready, else 0; of wider targets the share of nodes that are",
        (CLUSTER,),
    ),
    Indicator(
        "node_conditions",
        "value",
        "conditions",
        "conditions other than Ready that hold of a node (pressure, no network, those of node monitors)",
        (CLUSTER,),
    ),
    Indicator("queue_time", "value", "s", "mean time in the queue, of requests that ended", (ENGINE,)),
    Indicator("prefill_time", "value", "s", "mean time to compute a prompt, of those that ended", (ENGINE,)),
    Indicator("queue_share", "value", "ratio", "queue time / (queue time + prefill time)", (ENGINE,)),
    Indicator(
        "preemption_rate",
        "value",
        "preemptions/request",
        "times that a request was thrown out of the KV cache / requests that ended",
        (ENGINE,),
    ),
    Indicator(
        "prefill_share",
        "value",
        "ratio",
        "prompt tokens that were computed of all tokens that were",
        (ENGINE,),
    ),
    Indicator("replicas", "value", "replicas", "replicas that answer and are ready", (ENGINE, CLUSTER)),
    Indicator("batch", "value", "requests", "requests in the batch of a replica, on average", (ENGINE,)),
    Indicator("kv_capacity", "value", "tokens", "tokens that the KV cache holds", (ENGINE,)),
    Indicator("gpu_use", "value", "ratio", "share of time a kernel ran: 1 also on a hung engine", (GPU,)),
    Indicator("gpu_power", "value", "W", "power drawn", (GPU,)),
    Indicator("gpu_temperature", "value", "degrees C", "the hottest GPU", (GPU,)),
)


@functools.cache
def _library() -> dict[str, Indicator]:
    found = {indicator.name: indicator for indicator in _ALL}
    for sli in catalogue().indicators:
        found.setdefault(sli.name, Indicator(sli.name, "value", sli.unit, sli.formula, sli.sources))
    return found


class _Library(Mapping[str, Indicator]):
    """All indicators by name; the catalogue's file is read when the first one is asked for."""

    def __getitem__(self, name: str) -> Indicator:
        return _library()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_library())

    def __len__(self) -> int:
        return len(_library())


INDICATORS: Mapping[str, Indicator] = _Library()


def sources_of(indicator: str) -> tuple[str, ...]:
    """Return the sources of an indicator; what is not of the library speaks for itself, as a query does."""
    found = _library().get(indicator.partition("/")[0])
    return found.sources if found else (indicator,)
