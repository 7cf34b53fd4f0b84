"""Advice: what is off, and what a service's own metrics say for and against each lever."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.decide import advice
from controlplane.decide.advice import Evident, advise
from controlplane.decide.levers import Condition, Evidence, Lever, book
from controlplane.model.advice import IndicatorsSnapshot, LeverAdvice
from controlplane.model.objectives import ObjectiveStatus
from tests.support.standing import AT, SERVICE, burning

RULES = [(lever, rule) for lever in book().levers for rule in lever.evidence]
BOUNDS = {"effective.ttft": 1.0, "effective.tpot": 0.05}


def evident(objectives: tuple[ObjectiveStatus, ...] = (), /, **values: float | None) -> Evident:
    snapshot = IndicatorsSnapshot(at=AT, evaluated_at=AT, values=dict(values))
    return Evident(SERVICE, snapshot, objectives, {"scale-out"})


def lever(name: str, **values: float | None) -> LeverAdvice:
    """The advice on one lever."""
    found = next(each for each in book().levers if each.name == name)
    return advice._lever(found, evident(**values))


def value(condition: Condition, *, holds: bool) -> float:
    limit: Any = condition.above if condition.above is not None else condition.below
    bound = BOUNDS.get(limit, limit)
    step = abs(bound) / 2 + 0.001
    return float(bound + step if (condition.above is not None) is holds else bound - step)


@pytest.mark.parametrize(
    ("of", "rule"), RULES, ids=[f"{of.name}-{rule.says}-{place}" for place, (of, rule) in enumerate(RULES)]
)
def test_each_rule_holds_or_not_by_what_is_measured_and_is_unknown_without(of: Lever, rule: Evidence) -> None:
    place = of.evidence.index(rule)
    holding = {each.value: value(each, holds=True) for each in rule.all}
    found = lever(of.name, **holding)
    assert found.said[place].holds == "yes"
    assert found.said[place].measured == holding
    assert found.verdict in {rule.says, "mixed"}
    for condition in rule.all:
        broken = {**holding, condition.value: value(condition, holds=False)}
        assert lever(of.name, **broken).said[place].holds == "no"
        assert lever(of.name, **{**holding, condition.value: None}).said[place].holds == "unknown"


def test_few_hits_and_much_prefill_speak_for_routing_by_prefix() -> None:
    few = {"prefix_hits": 0.1, "prefill_share": 0.8, "replicas": 6.0, "queue_share": 0.1}
    assert lever("prefix-aware-routing", **few).verdict == "for"
    assert lever("prefix-cache", **few).verdict == "for"
    assert lever("prefix-aware-routing", **{**few, "prefix_hits": 0.9}).verdict == "against"
    assert lever("prefix-aware-routing", **{**few, "replicas": 1.0}).verdict == "against"


def test_a_full_cache_with_preemptions_speaks_for_fewer_bits_more_room_and_more_replicas() -> None:
    full = {"kv_use": 1.0, "preemption_rate": 0.2, "prefix_hits": 0.6, "queue": 3.0, "queue_share": 0.4}
    for name in ("kv-quantisation", "kv-offload", "scale-out"):
        assert lever(name, **full).verdict == "for", name
        assert lever(name, **{**full, "kv_use": 0.2, "queue": 0.0}).verdict == "against", name


def test_waiting_speaks_for_scaling_out_and_not_for_prefill_kernels() -> None:
    waiting = {"queue_share": 0.9, "queue": 20.0, "prefill_time": 0.4, "prefill_share": 0.6, "kv_use": 0.8}
    assert lever("scale-out", **waiting).verdict == "for"
    assert lever("prefill-kernels", **waiting).verdict == "against"
    assert lever("prefill-kernels", **{**waiting, "queue_share": 0.1}).verdict == "for"


def test_small_batches_speak_for_speculation_and_large_ones_against() -> None:
    assert lever("speculative-decoding", batch=1.5, kv_use=0.2).verdict == "for"
    assert lever("speculative-decoding", batch=40.0, kv_use=0.2).verdict == "against"
    assert lever("speculative-decoding", batch=8.0, kv_use=0.2).verdict == "open"
    assert lever("speculative-decoding", kv_use=0.2).verdict == "unknown"


def test_what_is_off_is_told_first_with_the_most_promising_lever_first() -> None:
    first = advise(evident(queue=30.0, ttft_p95=0.4)).indicators[0]
    assert (first.name, first.status, first.value, first.target) == (
        "queue",
        "off",
        30.0,
        "off when queue is above 8",
    )
    assert [each.verdict for each in first.levers][:2] == ["for", "for"]
    scale = next(each for each in first.levers if each.name == "scale-out")
    shed = next(each for each in first.levers if each.name == "load-shedding")
    assert (scale.playbook, scale.loaded, shed.loaded) == ("scale-out", True, False)
    assert scale.sources[0].startswith("Stojkovic et al.")


def test_the_services_own_bounds_count() -> None:
    slow = {each.name: each for each in advise(evident(ttft_p95=1.4, itl_p95=0.04)).indicators}
    assert (slow["ttft"].status, slow["itl"].status, slow["tpot"].status) == ("off", "on", "unknown")


def test_an_objective_decides_where_there_is_one() -> None:
    off = advise(evident((burning(),), success=1.0)).indicators[0]
    assert (off.name, off.status, off.target) == ("success", "off", "SLO chat-success")
    well = burning().model_copy(update={"state": "good"})  # house: state - an objective's state is a verdict
    found = {each.name: each for each in advise(evident((well,), success=0.5)).indicators}
    assert found["success"].status == "on"


def test_what_has_no_bound_says_why_and_keeps_its_levers() -> None:
    found = {each.name: each for each in advise(evident(cost_per_million=4.0)).indicators}
    cost = found["cost_per_million"]
    assert (cost.status, cost.value) == ("unbound", 4.0)
    assert "economics" in cost.target
    assert cost.levers


def test_before_anybody_looked_everything_is_unknown() -> None:
    found = advise(Evident(SERVICE, None))
    assert found.evaluated_at is None
    assert {each.status for each in found.indicators} == {"unknown", "unbound"}
    assert {one.verdict for each in found.indicators for one in each.levers} == {"unknown"}
