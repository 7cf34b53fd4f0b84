"""The metric families of vLLM 0.20.0, as data: names, help texts, labels and buckets of its /metrics.

Order, spelling and bounds are the interface that dashboards and rules in the field rely
on, so they are written down once here and held against a golden by a test. What the
values mean is `chaos.lab.node.metrics`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

_TYPES = {"gauge": Gauge, "counter": Counter, "histogram": Histogram}


def token_buckets(longest: int) -> tuple[float, ...]:
    """Return 1, 2, 5, 10, 20, ... up to ``longest`` tokens."""
    bounds = (float(mantissa * 10**exponent) for exponent in range(9) for mantissa in (1, 2, 5))
    return tuple(bound for bound in bounds if bound <= longest)


def fixed(*bounds: float) -> Callable[[int], tuple[float, ...]]:
    """Return buckets that do not depend on the model's length."""
    return lambda _: bounds


FIRST_TOKEN = fixed(
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
    1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
)  # fmt: skip
TOKEN_GAP = fixed(
    0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80
)
LATENCY = fixed(0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
ITERATION = fixed(1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)
CHOICES = fixed(1, 2, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class Family:
    """One family. ``name`` is as in code (a counter's ``_total`` is added in the text).

    ``label`` is a label beside ``model_name`` and ``engine``; ``children`` are the values of
    it that exist from the start.
    """

    kind: str
    name: str
    help: str
    label: str | None = None
    children: tuple[str, ...] = ()
    buckets: Callable[[int], tuple[float, ...]] | None = None

    def build(self, registry: CollectorRegistry, longest: int, common: dict[str, str]) -> MetricWrapperBase:
        """Register the family with its children; ``common`` are the labels all series carry."""
        options = {} if self.buckets is None else {"buckets": self.buckets(longest)}
        names = (*common, self.label) if self.label else tuple(common)
        metric: MetricWrapperBase = _TYPES[self.kind](
            self.name, self.help, labelnames=names, registry=registry, **options
        )
        for child in self.children or ((None,) if self.label is None else ()):
            metric.labels(**common, **({self.label: child} if self.label and child else {}))
        return metric


def _gauge(name: str, text: str, label: str | None = None, children: tuple[str, ...] = ()) -> Family:
    return Family("gauge", f"vllm:{name}", text, label, children)


def _counter(name: str, text: str, label: str | None = None, children: tuple[str, ...] = ()) -> Family:
    return Family("counter", f"vllm:{name}", text, label, children)


def _histogram(name: str, text: str, buckets: Callable[[int], tuple[float, ...]]) -> Family:
    return Family("histogram", f"vllm:{name}", text, buckets=buckets)


FAMILIES = (
    _gauge("num_requests_running", "Number of requests in model execution batches."),
    _gauge("num_requests_waiting", "Number of requests waiting to be processed."),
    _gauge(
        "num_requests_waiting_by_reason",
        "Number of waiting requests by reason. Reason labels: 'capacity' = waiting for scheduling capacity; "
        "'deferred' = deferred by transient constraints (LoRA budget, KV transfer, blocked status). "
        "Sum of all reasons equals vllm:num_requests_waiting.",
        "reason",
        ("capacity", "deferred"),
    ),
    _gauge(
        "engine_sleep_state",
        "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine is awake; "
        "weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep level 2.",
        "sleep_state",
        ("awake", "weights_offloaded", "discard_all"),
    ),
    _gauge("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage."),
    _counter("prefix_cache_queries", "Prefix cache queries, in terms of number of queried tokens."),
    _counter("prefix_cache_hits", "Prefix cache hits, in terms of number of cached tokens."),
    _counter(
        "external_prefix_cache_queries",
        "External prefix cache queries from KV connector cross-instance cache sharing, "
        "in terms of number of queried tokens.",
    ),
    _counter(
        "external_prefix_cache_hits",
        "External prefix cache hits from KV connector cross-instance cache sharing, "
        "in terms of number of cached tokens.",
    ),
    _counter("mm_cache_queries", "Multi-modal cache queries, in terms of number of queried items."),
    _counter("mm_cache_hits", "Multi-modal cache hits, in terms of number of cached items."),
    _counter("num_preemptions", "Cumulative number of preemption from the engine."),
    _counter("prompt_tokens", "Number of prefill tokens processed."),
    _counter(
        "prompt_tokens_by_source",
        "Number of prompt tokens by source.",
        "source",
        ("local_compute", "local_cache_hit", "external_kv_transfer"),
    ),
    _counter("prompt_tokens_cached", "Number of cached prompt tokens (local + external)."),
    _counter("generation_tokens", "Number of generation tokens processed."),
    _counter(
        "request_success",
        "Count of successfully processed requests.",
        "finished_reason",
        ("stop", "length", "abort", "error", "repetition"),
    ),
    _histogram("request_prompt_tokens", "Number of prefill tokens processed.", token_buckets),
    _histogram("request_generation_tokens", "Number of generation tokens processed.", token_buckets),
    _histogram("iteration_tokens_total", "Histogram of number of tokens per engine_step.", ITERATION),
    _histogram(
        "request_max_num_generation_tokens",
        "Histogram of maximum number of requested generation tokens.",
        token_buckets,
    ),
    _histogram("request_params_n", "Histogram of the n request parameter.", CHOICES),
    _histogram("request_params_max_tokens", "Histogram of the max_tokens request parameter.", token_buckets),
    _histogram("time_to_first_token_seconds", "Histogram of time to first token in seconds.", FIRST_TOKEN),
    _histogram("inter_token_latency_seconds", "Histogram of inter-token latency in seconds.", TOKEN_GAP),
    _histogram(
        "request_time_per_output_token_seconds",
        "Histogram of time_per_output_token_seconds per request.",
        TOKEN_GAP,
    ),
    _histogram("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", LATENCY),
    _histogram(
        "request_queue_time_seconds", "Histogram of time spent in WAITING phase for request.", LATENCY
    ),
    _histogram(
        "request_inference_time_seconds", "Histogram of time spent in RUNNING phase for request.", LATENCY
    ),
    _histogram(
        "request_prefill_time_seconds", "Histogram of time spent in PREFILL phase for request.", LATENCY
    ),
    _histogram(
        "request_decode_time_seconds", "Histogram of time spent in DECODE phase for request.", LATENCY
    ),
    _histogram(
        "request_prefill_kv_computed_tokens",
        "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
        token_buckets,
    ),
)
