"""Profiles: data that is checked, and the queries of a tick that follow from it."""

from __future__ import annotations

import pytest

from controlplane.kernel.errors import InvalidInput
from controlplane.model.service import Service
from controlplane.observe import profile
from controlplane.observe.profile import MEASURES, load_profile, queries, shipped


def service(**labels: str) -> Service:
    spec = {"model": "m", "zones": [{"name": "zone-a"}], "metricLabels": labels}
    return Service.model_validate({"kind": "Service", "metadata": {"name": "chat"}, "spec": spec})


def texts(name: str, **labels: str) -> dict[str, str]:
    return {query.name: query.promql for query in queries(shipped()[name], service(**labels))}


def test_the_shipped_profiles_load_and_feed_every_measure() -> None:
    fed = {measure for each in shipped().values() for measure in each.measures}
    assert fed == set(MEASURES)


def test_a_tick_asks_once_per_histogram_and_once_for_counters_and_gauges() -> None:
    assert texts("vllm") == {
        "up": 'min by (zone, node, replica) (up{service="chat", replica!=""})',
        "scraped_at": 'max by (zone, node, replica) (timestamp(up{service="chat", replica!=""}))',
        "vllm/0": "sum by (__name__, zone, node, replica, engine, le) "
        '({service="chat", __name__=~"vllm:time_to_first_token_seconds_bucket"})',
        "vllm/1": "sum by (__name__, zone, node, replica, engine, le) "
        '({service="chat", __name__=~"vllm:inter_token_latency_seconds_bucket'
        '|vllm:time_per_output_token_seconds_bucket"})',
        "vllm/2": "sum by (__name__, zone, node, replica, engine, le) "
        '({service="chat", __name__=~"vllm:request_time_per_output_token_seconds_bucket"})',
        "vllm/3": "sum by (__name__, zone, node, replica, engine, le) "
        '({service="chat", __name__=~"vllm:e2e_request_latency_seconds_bucket"})',
        "vllm/4": "sum by (__name__, zone, node, replica, engine, finished_reason, source) "
        '({service="chat", __name__=~"vllm:generation_tokens_total|vllm:prompt_tokens_total'
        "|vllm:iteration_tokens_total_count|vllm:request_success_total|vllm:prompt_tokens_by_source_total"
        "|vllm:prefix_cache_hits_total|vllm:gpu_prefix_cache_hits_total|vllm:prefix_cache_queries_total"
        "|vllm:gpu_prefix_cache_queries_total|vllm:request_prompt_tokens_sum"
        "|vllm:request_generation_tokens_sum|vllm:request_prompt_tokens_count"
        "|vllm:request_queue_time_seconds_sum|vllm:request_queue_time_seconds_count"
        "|vllm:request_prefill_time_seconds_sum|vllm:request_prefill_time_seconds_count"
        '|vllm:num_preemptions_total"})',
        "vllm/5": "sum by (__name__, zone, node, replica, block_size, num_gpu_blocks) "
        '({service="chat", __name__=~"vllm:num_requests_running|vllm:num_requests_waiting'
        '|vllm:cache_config_info"})',
        "vllm/6": "max by (__name__, zone, node, replica) "
        '({service="chat", __name__=~"vllm:kv_cache_usage_perc|vllm:gpu_cache_usage_perc'
        '|vllm:gpu_prefix_cache_hit_rate"})',
    }


def test_a_service_may_call_its_labels_otherwise() -> None:
    found = texts("vllm", service="app", zone="az", replica="pod")
    assert found["up"] == 'min by (az, node, pod) (up{app="chat", pod!=""})'


def test_a_profile_without_a_services_label_asks_for_all_and_keeps_its_own_words() -> None:
    found = texts("kube-state-metrics", service="app", replica="instance")
    assert list(found.values()) == [
        'max by (__name__, pod) ({condition="true", __name__=~"kube_pod_status_ready"})',
        'max by (__name__, pod) ({__name__=~"kube_pod_container_status_restarts_total"})',
    ]
    series = '__name__=~"kube_node_status_condition"'
    assert list(texts("kube-state-metrics-nodes", node="machine").values()) == [
        f'max by (__name__, node) ({{condition="Ready", status="true", {series}}})',
        f'max by (__name__, node, condition) ({{status="true", {series}}})',
    ]


ENGINE = """
name: x
source: engine
engine: {title: X, generations: [{name: "1"}], lacks: {ttft: never}}
measures: {e2e: {type: histogram, series: [a]}}
"""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: x\nsource: engine\nmeasures: {tttf: {type: histogram, series: [a]}}", "did you mean `ttft`"),
        ("name: x\nsource: engine\nmeasures: {ttft: {type: gauge, series: [a]}}", "must be a histogram"),
        ("name: x\nsource: engine\nmeasures: {ttft: {type: histogram, series: []}}", "at least 1 item"),
        ("name: x\nsource: engine\nmeasures: {}\nlabel: {}", "Extra inputs"),
        ("name: x\nname: y\nsource: engine\nmeasures: {}", "duplicate key"),
        ("- a list", "valid dictionary"),
        (ENGINE.replace("ttft: never", "tttf: never"), "did you mean `ttft`"),
        (ENGINE.replace("ttft: never", "e2e: never"), "both fed and said to be lacking"),
    ],
)
def test_a_profile_with_a_mistake_says_which(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem) as caught:
        load_profile(text, "engine.yaml")
    assert "engine.yaml" in str(caught.value)


def test_a_new_engine_is_a_file() -> None:
    text = """
    name: other
    source: engine
    measures:
      ttft: {type: histogram, series: ["other:ttft_seconds"]}
    """
    found = profile.queries(load_profile(text, "other.yaml"), service())
    named = [{name: (each.measure, each.rank) for name, each in query.measures.items()} for query in found]
    assert named == [{"other:ttft_seconds_bucket": ("ttft", 0)}]
