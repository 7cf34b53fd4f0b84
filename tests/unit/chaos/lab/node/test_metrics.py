"""Values are written when vLLM writes them: gauges per step, histograms at tokens and at the end."""

from __future__ import annotations

import random

import pytest
from prometheus_client import CollectorRegistry

from chaos.lab.engine.engine import Engine
from chaos.lab.engine.request import FinishReason, Request
from chaos.lab.node.exposition import Exposition
from chaos.lab.node.http_metrics import HttpMetrics
from chaos.lab.node.metrics import EngineMetrics
from chaos.lab.node.process_metrics import register_process
from chaos.lab.settings import EngineSettings

SETTINGS = EngineSettings(max_num_seqs=2, step_jitter=0)
COMMON = {"model_name": "m", "engine": "0"}


class Bench:
    """An engine and its metrics under a virtual clock."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.metrics = EngineMetrics(self.registry, "m", SETTINGS)
        self.engine = Engine(SETTINGS, random.Random(1))
        self.now = 100.0

    def add(self, name: str, prompt: int, answer: int, max_tokens: int | None = None) -> Request:
        words = [f"word{index}" for index in range(prompt)]
        request = Request(name, words, ["x"] * answer, FinishReason.LENGTH, self.now, max_tokens)
        self.engine.add(request, self.now)
        return request

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            self.now = self.engine.begin(self.now) or self.now
            report = self.engine.complete(self.now)
            if report is not None:
                self.metrics.observe(report)

    def value(self, name: str, **labels: str) -> float:
        value = self.registry.get_sample_value(f"vllm:{name}", {**COMMON, **labels})
        assert value is not None
        return value


def test_gauges_follow_each_step() -> None:
    bench = Bench()
    for name in "abc":
        bench.add(name, 16, 3)
    assert bench.value("num_requests_waiting") == 0
    bench.step()
    assert (bench.value("num_requests_running"), bench.value("num_requests_waiting")) == (2, 1)
    assert bench.value("num_requests_waiting_by_reason", reason="capacity") == 1
    assert bench.value("kv_cache_usage_perc") == pytest.approx(2 / SETTINGS.num_gpu_blocks)
    bench.step(10)
    assert (bench.value("num_requests_running"), bench.value("num_requests_waiting")) == (0, 0)
    assert bench.value("kv_cache_usage_perc") == 0


def test_latencies_are_observed_at_the_first_token_at_each_token_and_at_the_end() -> None:
    bench = Bench()
    bench.add("a", 16, 4, max_tokens=4)
    bench.step()
    first = bench.now - 100.0
    assert bench.value("time_to_first_token_seconds_sum") == pytest.approx(first)
    assert bench.value("inter_token_latency_seconds_count") == 0
    assert bench.value("e2e_request_latency_seconds_count") == 0
    bench.step(2)
    assert bench.value("inter_token_latency_seconds_count") == 2
    bench.step()
    whole = bench.now - 100.0
    assert bench.value("inter_token_latency_seconds_sum") == pytest.approx(whole - first)
    assert bench.value("e2e_request_latency_seconds_sum") == pytest.approx(whole)
    assert bench.value("request_prefill_time_seconds_sum") == pytest.approx(first)
    assert bench.value("request_decode_time_seconds_sum") == pytest.approx(whole - first)
    assert bench.value("request_time_per_output_token_seconds_sum") == pytest.approx((whole - first) / 3)
    assert bench.value("request_params_max_tokens_sum") == 4


def test_time_in_the_queue_is_part_of_the_first_token() -> None:
    bench = Bench()
    for name in "abc":
        bench.add(name, 16, 3)
    bench.step(10)
    queued = bench.value("request_queue_time_seconds_sum")
    assert queued > 2 * SETTINGS.step_base
    assert bench.value("time_to_first_token_seconds_sum") > queued


def test_tokens_are_counted_once_by_source() -> None:
    bench = Bench()
    bench.add("a", 20, 2)
    bench.step(5)
    bench.add("b", 20, 2)
    bench.step(5)
    assert bench.value("prompt_tokens_total") == 40
    assert bench.value("prompt_tokens_by_source_total", source="local_cache_hit") == 16
    assert bench.value("prompt_tokens_by_source_total", source="local_compute") == 24
    assert bench.value("prompt_tokens_cached_total") == 16
    assert (bench.value("prefix_cache_queries_total"), bench.value("prefix_cache_hits_total")) == (40, 16)
    assert bench.value("generation_tokens_total") == 4
    assert (bench.value("iteration_tokens_total_count"), bench.value("iteration_tokens_total_sum")) == (4, 44)
    assert bench.value("request_prefill_kv_computed_tokens_sum") == 24


def test_every_end_is_counted_under_its_reason() -> None:
    bench = Bench()
    bench.add("a", 4, 2)
    gone = bench.add("b", 4, 50)
    bench.step(2)
    bench.engine.abort(gone)
    bench.step(2)
    assert bench.value("request_success_total", finished_reason="length") == 1
    assert bench.value("request_success_total", finished_reason="abort") == 1
    assert bench.value("request_generation_tokens_count") == 1


def test_preemptions_are_counted() -> None:
    settings = EngineSettings(max_num_seqs=2, max_model_len=64, num_gpu_blocks=4)
    registry = CollectorRegistry()
    metrics, engine = EngineMetrics(registry, "m", settings), Engine(settings, random.Random(1))
    for name in "ab":
        engine.add(Request(name, [name] * 30, ["x"] * 30, FinishReason.LENGTH, 0.0), 0.0)
    while (ends_at := engine.begin(0.0)) is not None:
        report = engine.complete(ends_at)
        assert report is not None
        metrics.observe(report)
    assert registry.get_sample_value("vllm:num_preemptions_total", COMMON) == 1


def test_a_hang_freezes_every_value() -> None:
    bench = Bench()
    bench.add("a", 16, 20)
    bench.step(3)
    text = Exposition(bench.registry)
    before = text.text()
    bench.engine.hang(bench.now)
    bench.add("late", 16, 3)
    bench.now += 60
    bench.step(5)
    assert text.text() == before


def test_http_children_appear_with_their_first_use_and_statuses_are_grouped() -> None:
    registry = CollectorRegistry()
    http = HttpMetrics(registry)
    handler = "/v1/completions"
    labels = {"handler": handler, "method": "POST", "status": "5xx"}
    assert registry.get_sample_value("http_requests_total", labels) is None
    http.observe(handler, "POST", 503, 0.2, received=10, sent=20)
    assert registry.get_sample_value("http_requests_total", labels) == 1
    assert registry.get_sample_value("http_request_size_bytes_sum", {"handler": handler}) == 10
    assert registry.get_sample_value("http_response_size_bytes_sum", {"handler": handler}) == 20
    assert registry.get_sample_value("http_request_duration_highr_seconds_bucket", {"le": "0.25"}) == 1
    quick = {"handler": handler, "method": "POST", "le": "0.1"}
    assert registry.get_sample_value("http_request_duration_seconds_bucket", quick) == 0


def test_an_incarnation_has_its_own_start_and_cpu_time() -> None:
    registry = CollectorRegistry()
    register_process(registry, 1234.5)
    assert registry.get_sample_value("process_start_time_seconds") == 1234.5
    spent = registry.get_sample_value("process_cpu_seconds_total")
    assert spent == pytest.approx(0.0, abs=0.1)
