"""Whose a text is, how sure that is, and what is said of a release that nobody has seen."""

from __future__ import annotations

from typing import Any

from controlplane.model.service import Objectives
from controlplane.observe.exposition import parse
from controlplane.observe.grading import Graded
from controlplane.observe.profile import shipped
from controlplane.observe.recognise import Report, examine

VLLM = """\
vllm:num_requests_running{engine="0"} 1
vllm:num_requests_waiting{engine="0"} 0
vllm:generation_tokens_total{engine="0"} 7
vllm:request_success_total{engine="0",finished_reason="stop"} 7
vllm:time_to_first_token_seconds_bucket{le="0.75"} 1
vllm:time_to_first_token_seconds_bucket{le="2.5"} 1
vllm:inter_token_latency_seconds_bucket{le="0.025"} 1
vllm:inter_token_latency_seconds_bucket{le="0.05"} 1
"""


def report(text: str, **objectives: Any) -> Report:
    return examine(parse(text, "text"), "text", shipped(), Objectives.model_construct(**objectives))


def row(found: Report, indicator: str) -> Graded:
    return next(each for each in found.indicators if each.indicator == indicator)


def usual(text: str) -> Report:
    return report(text, ttft=1.0, tpot=0.05)


def test_a_release_that_nobody_has_seen_is_told_by_name() -> None:
    new = VLLM.replace("inter_token_latency_seconds", "token_gap_seconds").replace(
        "time_to_first_token_seconds", "time_to_first_token_s"
    )
    found = usual(new)
    assert (found.recognised.profile, found.recognised.generation, found.recognised.sure) == (
        "vllm",
        None,
        "unsure",
    )
    ttft = row(found, "ttft")
    assert ttft.grade == "unavailable"
    assert "vllm:time_to_first_token_seconds not in this text" in ttft.reason
    assert "nearest here: vllm:time_to_first_token_s" in ttft.reason
    assert row(found, "tokens_per_second").grade == "exact"


def test_a_release_of_which_half_is_there_is_likely() -> None:
    found = usual(VLLM).recognised
    assert (found.generation, found.sure) == ("0.10 to 0.12", "likely")
    assert "lacks vllm:kv_cache_usage_perc" in found.because


def test_a_threshold_between_two_bounds_is_said_to_be_snapped() -> None:
    found = usual(VLLM)
    assert row(found, "ttft").notes == (
        "1 s is no bucket bound: judged at 0.75 s; the next bound is 2.5 s; percentiles are interpolated",
    )
    assert row(found, "itl").notes == ("0.05 s is a bucket bound",)


def test_from_the_engine_alone_etpm_is_a_bound_that_says_which() -> None:
    found = row(usual(VLLM), "etpm")
    assert (found.grade, found.bound) == ("bounded", "upper")
    assert found.with_ is not None
    assert (found.with_.grade, found.with_.sources) == ("exact", ("clients",))


def test_a_router_with_the_engines_prefix_is_not_the_engine() -> None:
    found = usual(VLLM + "vllm:healthy_pods_total 3\n")
    assert found.recognised.kind == "unknown"
    assert "production-stack router" in found.recognised.title
    assert {each.grade for each in found.indicators} == {"unavailable"}


def test_an_exporter_gives_what_it_has() -> None:
    found = usual(
        'DCGM_FI_DEV_GPU_UTIL{UUID="a"} 3\nDCGM_FI_DEV_FB_USED{UUID="a"} 3\nDCGM_FI_DEV_FB_FREE{UUID="a"} 3\n'
    )
    assert (found.recognised.kind, found.recognised.profile) == ("exporter", "dcgm")
    assert (row(found, "gpu_use").grade, row(found, "gpu_memory_use").grade) == ("exact", "exact")
    assert row(found, "tokens_per_second").reason == "an engine shows it, this is none"


def test_what_nobody_knows_is_said_to_be_so() -> None:
    found = usual("python_info 1\nshop_orders_total 3\nshop_baskets 3\n").recognised
    assert (found.kind, found.profile, found.because) == ("unknown", None, ("names begin with shop_ (2)",))


def test_configuration_in_labels_counts_only_where_it_is_a_number() -> None:
    info = 'vllm:cache_config_info{{engine="0",num_gpu_blocks="{}",block_size="16"}} 1\n'
    gpu = 'nv_gpu_memory_used_bytes{gpu_uuid="a"} 1\n'
    assert row(usual(VLLM + info.format("None") + gpu), "memory_per_token").grade == "unavailable"
    better = row(usual(VLLM + info.format("27") + gpu), "memory_per_token").with_
    assert better is not None
    assert (better.bound, better.sources) == ("upper", ("dcgm",))


def test_a_series_without_a_sample_is_said_to_be_waiting() -> None:
    found = row(usual(VLLM + "# TYPE vllm:e2e_request_latency_seconds histogram\n"), "e2e")
    assert (found.grade, found.notes) == ("exact", ("no sample yet of vllm:e2e_request_latency_seconds",))
