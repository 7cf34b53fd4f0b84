"""What one incarnation of a replica tells Prometheus: vLLM's values, written when vLLM writes them.

Gauges are set once per engine step, histograms observed at the first token, at each token
and at a request's end. Nothing is computed at scrape time: an engine that stops stepping
therefore leaves everything as it was, which is how a hang looks in the field. A registry
belongs to one incarnation; its successor starts from zero.
"""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from chaos.lab.engine.request import Request
from chaos.lab.engine.step import StepReport
from chaos.lab.node.families import FAMILIES
from chaos.lab.settings import EngineSettings


class EngineMetrics:
    """The ``vllm:`` families of one incarnation, in a registry of its own."""

    def __init__(self, registry: CollectorRegistry, model: str, settings: EngineSettings) -> None:
        self._common = {"model_name": model, "engine": "0"}
        self._built = {
            family.name.removeprefix("vllm:"): family.build(registry, settings.max_model_len, self._common)
            for family in FAMILIES
        }
        _cache_config(registry, settings)
        self._gauge("engine_sleep_state", sleep_state="awake").set(1)
        self._running = self._gauge("num_requests_running")
        self._waiting = self._gauge("num_requests_waiting")
        self._waiting_for_capacity = self._gauge("num_requests_waiting_by_reason", reason="capacity")
        self._kv_usage = self._gauge("kv_cache_usage_perc")
        self._generated = self._counter("generation_tokens")
        self._iteration = self._histogram("iteration_tokens_total")
        self._first_token = self._histogram("time_to_first_token_seconds")
        self._token_gap = self._histogram("inter_token_latency_seconds")

    def observe(self, report: StepReport) -> None:
        """Account for one finished step."""
        self._running.set(report.running)
        self._waiting.set(report.waiting)
        self._waiting_for_capacity.set(report.waiting)
        self._kv_usage.set(report.kv_usage)
        if report.outputs:
            self._observe_outputs(report)
        if report.prefix_queries:
            self._counter("prefix_cache_queries").inc(report.prefix_queries)
            self._counter("prefix_cache_hits").inc(report.prefix_hits)
        if report.preemptions:
            self._counter("num_preemptions").inc(report.preemptions)
        for request in report.finished:
            self._observe_end(request)
        if report.aborted:
            self._counter("request_success", finished_reason="abort").inc(len(report.aborted))

    def _observe_outputs(self, report: StepReport) -> None:
        prompt_tokens = 0
        for request in report.outputs:
            if request.emitted > 1:
                self._token_gap.observe(request.token_gap)
                continue
            prompt_tokens += len(request.prompt)
            self._observe_first_token(request)
        self._generated.inc(len(report.outputs))
        self._iteration.observe(prompt_tokens + len(report.outputs))

    def _observe_first_token(self, request: Request) -> None:
        prompt, cached = len(request.prompt), request.cached
        self._first_token.observe(_between(request.arrived_at, request.first_token_at))
        self._counter("prompt_tokens").inc(prompt)
        self._counter("prompt_tokens_cached").inc(cached)
        self._counter("prompt_tokens_by_source", source="local_compute").inc(prompt - cached)
        self._counter("prompt_tokens_by_source", source="local_cache_hit").inc(cached)

    def _observe_end(self, request: Request) -> None:
        decode = _between(request.first_token_at, request.last_token_at)
        self._counter("request_success", finished_reason=request.ending.value).inc()
        for name, value in (
            ("request_prompt_tokens", len(request.prompt)),
            ("request_generation_tokens", request.emitted),
            ("request_max_num_generation_tokens", request.emitted),
            ("request_params_n", 1),
            ("request_prefill_kv_computed_tokens", len(request.prompt) - request.cached),
            ("request_time_per_output_token_seconds", decode / (request.emitted - 1) if decode else 0.0),
            ("e2e_request_latency_seconds", _between(request.arrived_at, request.last_token_at)),
            ("request_queue_time_seconds", _between(request.arrived_at, request.scheduled_at)),
            ("request_inference_time_seconds", _between(request.scheduled_at, request.last_token_at)),
            ("request_prefill_time_seconds", _between(request.scheduled_at, request.first_token_at)),
            ("request_decode_time_seconds", decode),
        ):
            self._histogram(name).observe(value)
        if request.max_tokens is not None:
            self._histogram("request_params_max_tokens").observe(request.max_tokens)

    def _child(self, name: str, extra: dict[str, str]) -> Any:
        return self._built[name].labels(**self._common, **extra)

    def _gauge(self, name: str, **extra: str) -> Gauge:
        child: Gauge = self._child(name, extra)
        return child

    def _counter(self, name: str, **extra: str) -> Counter:
        child: Counter = self._child(name, extra)
        return child

    def _histogram(self, name: str, **extra: str) -> Histogram:
        child: Histogram = self._child(name, extra)
        return child


def _cache_config(registry: CollectorRegistry, settings: EngineSettings) -> None:
    labels = {
        "block_size": str(settings.block_size),
        "cache_dtype": "auto",
        "enable_prefix_caching": str(settings.enable_prefix_caching),
        "engine": "0",
        "gpu_memory_utilization": "0.9",
        "num_cpu_blocks": "None",
        "num_gpu_blocks": str(settings.num_gpu_blocks),
        "num_gpu_blocks_override": "None",
        "prefix_caching_hash_algo": "sha256",
        "sliding_window": "None",
        "swap_space": "4",
        "user_specified_block_size": "False",
    }
    info = Gauge(
        "vllm:cache_config_info",
        "Information of the LLMEngine CacheConfig",
        tuple(labels),
        registry=registry,
    )
    info.labels(**labels).set(1)


def _between(start: float | None, end: float | None) -> float:
    return end - start if start is not None and end is not None else 0.0
