"""What was measured, as one number: rates, percentiles, estimates, states."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.kernel.errors import InvalidInput
from controlplane.model.target import Target
from tests.unit.controlplane.decide.fleet import SERVICE, at
from tests.unit.controlplane.decide.measured import Filled

REPLICA = at("a/a1/0")


def with_buckets(counts: dict[float, float]) -> Filled:
    """Return measures of TTFT with these observations in a tick, by the bucket's upper bound."""
    filled, below = Filled(), 0.0
    events: dict[tuple[str, float | str, Target], float] = {}
    for bound, count in sorted(counts.items()):
        below += count
        events["ttft", bound, REPLICA] = below
    filled.tick(events)
    return filled


def test_a_rate_is_per_second_of_what_was_seen() -> None:
    filled = Filled()
    filled.tick({("generation_tokens", "all", REPLICA): 500.0}, times=5)
    assert filled.measures.value("tokens_per_second", at("a")) == 250.0


def test_a_rate_of_a_young_history_is_not_diluted() -> None:
    filled = Filled()
    filled.tick({("generation_tokens", "all", REPLICA): 500.0}, times=2)
    assert filled.measures.value("tokens_per_second", REPLICA) == 250.0


def test_what_was_never_seen_is_none() -> None:
    measures = Filled().measures
    names = ("tokens_per_second", "etpm", "etpm_estimate", "ttft_p95", "queue", "stalled", "success", "ttft")
    assert [measures.value(name, REPLICA) for name in names] == [None] * len(names)


def test_a_percentile_is_linear_in_its_bucket() -> None:
    filled = with_buckets({0.1: 90.0, 0.5: 10.0, math.inf: 0.0})
    assert filled.measures.quantile("ttft", 0.95, REPLICA) == pytest.approx(0.3)
    assert filled.measures.quantile("ttft", 0.45, REPLICA) == pytest.approx(0.05)


def test_a_percentile_in_the_open_bucket_is_its_lower_bound() -> None:
    filled = with_buckets({0.1: 1.0, 0.5: 1.0, math.inf: 98.0})
    assert filled.measures.quantile("ttft", 0.95, REPLICA) == 0.5


@settings(max_examples=50)
@given(st.lists(st.integers(0, 1000), min_size=4, max_size=4), st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_percentiles_rise_with_their_rank(counts: list[int], low: float, high: float) -> None:
    filled = with_buckets(dict(zip((0.1, 0.5, 1.0, math.inf), map(float, counts), strict=True)))
    first, second = (filled.measures.quantile("ttft", q, REPLICA) for q in sorted((low, high)))
    assert (first is None) == (sum(counts) == 0)
    if first is not None and second is not None:
        assert 0.0 <= first <= second + 1e-9 <= 1.0 + 2e-9


def test_the_estimate_is_tokens_times_success_times_what_was_in_time() -> None:
    filled = Filled()
    filled.tick(
        {
            ("generation_tokens", "all", REPLICA): 1000.0,
            ("canary_tokens", "all", REPLICA): 100.0,
            ("responses", "good", at("a")): 9.0,
            ("responses", "bad", at("a")): 1.0,
            ("ttft", 1.0, REPLICA): 8.0,
            ("ttft", math.inf, REPLICA): 10.0,
            ("tpot", 0.05, REPLICA): 5.0,
            ("tpot", math.inf, REPLICA): 10.0,
        },
        times=5,
    )
    assert filled.measures.value("etpm_estimate", at("a")) == pytest.approx(60 * 450 * 0.9 * 0.5)
    assert filled.measures.value("etpm", at("a")) is None


def test_clients_that_count_make_it_exact() -> None:
    filled = Filled()
    filled.tick({("effective_tokens", "all", at("a")): 200.0}, times=5)
    assert filled.measures.value("etpm", SERVICE) == 6000.0


def test_gauges_of_wider_targets_follow_from_their_parts() -> None:
    filled = Filled()
    other = at("a/a1/1")
    filled.measures.gauges = {
        ("queue", REPLICA): 3.0,
        ("queue", other): 5.0,
        ("kv_use", REPLICA): 0.2,
        ("kv_use", other): 0.6,
    }
    filled.measures.folds = {"kv_use": "mean"}
    assert filled.measures.value("queue", at("a")) == 8.0
    assert filled.measures.value("kv_use", at("a")) == pytest.approx(0.4)
    assert filled.measures.value("queue", at("b")) is None


def test_states_are_the_share_of_replicas_now() -> None:
    filled = Filled()
    filled.measures.states = {
        "stalled": {REPLICA: False, at("a/a1/1"): True},
        "availability": {REPLICA: True},
    }
    assert filled.measures.value("stalled", REPLICA) == 1.0
    assert filled.measures.value("stalled", at("a")) == 0.5
    assert filled.measures.value("availability", at("a")) == 1.0


def test_an_unknown_indicator_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="did you mean `success`"):
        Filled().measures.value("sucess", SERVICE)


def test_restarts_are_those_of_the_last_minutes() -> None:
    filled = Filled()
    assert filled.measures.value("restarts", REPLICA) is None
    for count in (1.0, 1.0, 0.0):
        filled.tick({("restarts", "all", REPLICA): count})
    assert (filled.measures.value("restarts", REPLICA), filled.measures.value("restarts", at("a"))) == (
        2.0,
        2.0,
    )
    filled.tick({("restarts", "all", REPLICA): 0.0}, times=600)
    assert filled.measures.value("restarts", REPLICA) == 0.0


def test_where_scrapes_come_seldom_the_short_window_holds_two_of_them() -> None:
    filled = Filled()
    filled.measures.least = 60.0
    filled.tick({("generation_tokens", "all", REPLICA): 500.0}, times=40)
    assert filled.measures.short == 60.0
    assert filled.measures.increase("generation_tokens", REPLICA) == 500.0 * 30
    assert filled.measures.value("tokens_per_second", REPLICA) == 250.0


def test_batches_and_the_cache_follow_from_the_replicas_that_are_there() -> None:
    measures = Filled().measures
    measures.gauges = {("running", REPLICA): 12.0, ("kv_blocks", REPLICA): 100.0}
    measures.states = {"availability": {REPLICA: True, at("a/a2/0"): True, at("b/b1/0"): False}}
    found = {name: measures.value(name, at("a")) for name in ("batch", "replicas", "kv_capacity")}
    assert found == {"batch": 6.0, "replicas": 2.0, "kv_capacity": None}
    measures.gauges = {**measures.gauges, ("kv_block_tokens", REPLICA): 16.0}
    assert measures.value("kv_capacity", at("a")) == 1600.0


def test_the_share_of_waiting_and_of_prompts() -> None:
    filled = Filled()
    filled.tick(
        {
            ("queue_seconds", "all", REPLICA): 6.0,
            ("queued", "all", REPLICA): 10.0,
            ("prefill_seconds", "all", REPLICA): 2.0,
            ("prefills", "all", REPLICA): 10.0,
            ("preemptions", "all", REPLICA): 1.0,
            ("finished", "good", REPLICA): 8.0,
            ("finished", "bad", REPLICA): 2.0,
            ("prefill_tokens", "good", REPLICA): 300.0,
            ("generation_tokens", "all", REPLICA): 100.0,
        },
        times=5,
    )
    names = ("queue_time", "prefill_time", "queue_share", "preemption_rate", "prefill_share")
    found = [filled.measures.value(name, at("a")) for name in names]
    assert found == pytest.approx([0.6, 0.2, 0.75, 0.1, 0.75])
    assert filled.measures.value("queue_share", at("b")) is None
