"""Signals: good, bad or unknown on a short window; which tiers fire; who accuses."""

from __future__ import annotations

import math
from typing import Any

import pytest

from controlplane.decide import signals
from controlplane.decide.signals import Sight
from controlplane.kernel.errors import InvalidInput
from controlplane.model.signals import Verdict
from controlplane.model.slo import Slo
from controlplane.model.target import Target
from controlplane.observe.library import CANARY, CLUSTER, ENGINE, GATEWAY
from tests.unit.controlplane.decide.fleet import AT, SERVICE, at, topology
from tests.unit.controlplane.decide.measured import Filled

REPLICA = at("a/a1/0")
FRESH = {ENGINE, GATEWAY, CLUSTER, CANARY}
REPLICAS = [target for target in topology().targets() if target.level == "replica"]


def slo(**spec: Any) -> Slo:
    values: dict[str, Any] = {"service": "chat", "indicator": "itl", "threshold": "50ms", "target": "95%"}
    values["by"] = ["service", "zone"]
    values |= {"fast": {"window": "6s", "below": "80%", "minSamples": 20}, **spec}
    return Slo.model_validate({"kind": "SLO", "metadata": {"name": "chat-itl"}, "spec": values})


def itl(good: float, total: float, replica: Target = REPLICA) -> dict[tuple[str, float | str, Target], float]:
    """Return one tick's token latencies: ``good`` of ``total`` within 50 ms."""
    return {("itl", 0.05, replica): good, ("itl", 0.1, replica): total, ("itl", math.inf, replica): total}


def judged(filled: Filled, objective: Slo, fresh: set[str] = FRESH, **more: Any) -> dict[Target, Verdict]:
    sight = Sight(AT, fresh, replicas=REPLICAS, **more)
    found = signals.judge([objective], topology().targets(), filled.measures, sight)
    return {verdict.signal.target: verdict for verdict in found}


def test_a_zone_within_its_objective_is_good_and_knows_its_samples() -> None:
    filled = Filled()
    filled.tick(itl(99, 100), times=5)
    found = judged(filled, slo())[at("a")]
    assert (found.state.good, found.state.value, found.state.samples) == (True, 0.99, 300.0)
    assert (found.state.until - found.state.since).total_seconds() == pytest.approx(
        AT.timestamp() - filled.at + 6.0
    )


def test_the_fast_tier_fires_on_the_short_window() -> None:
    filled = Filled()
    filled.tick(itl(100, 100), times=5)
    filled.tick(itl(0, 100))
    found = judged(filled, slo())[at("a")]
    assert (found.tiers, found.state.good, found.bad) == (("fast",), False, True)
    assert found.accusers == {ENGINE}


def test_a_zone_without_events_is_unknown() -> None:
    filled = Filled()
    filled.tick(itl(100, 100), times=5)
    assert judged(filled, slo())[at("b")].state.good is None


def test_too_few_samples_and_too_young_a_history_are_unknown() -> None:
    few, young = Filled(), Filled()
    few.tick(itl(1, 1), times=5)
    young.tick(itl(0, 100))
    assert judged(few, slo(minEvents=10))[at("a")].state.good is None
    assert judged(young, slo())[at("a")].tiers == ()


def test_a_source_that_is_not_fresh_makes_it_blind_not_bad() -> None:
    filled = Filled()
    filled.tick(itl(0, 100), times=5)
    found = judged(filled, slo(), fresh=FRESH - {ENGINE})[at("a")]
    assert (found.blind, found.bad, found.tiers, found.state.good) == (True, False, (), None)


def test_every_verdict_knows_how_the_clients_of_the_service_are() -> None:
    filled = Filled()
    filled.tick({**itl(0, 100), **itl(900, 900, at("b/b1/0"))}, times=5)
    found = judged(filled, slo(by=["zone"]))
    assert set(found) == {at("a"), at("b"), at("c")}
    assert (found[at("a")].state.good, found[at("a")].state.clients_value) == (False, 0.9)
    assert found[at("b")].state.clients_good is False


def test_a_threshold_between_bounds_is_judged_at_the_lower_one_and_says_so() -> None:
    filled = Filled()
    filled.tick(itl(99, 100), times=5)
    found = judged(filled, slo(threshold="70ms"))[at("a")]
    assert found.state.value == 0.99
    assert found.state.detail == "0.07 s is no bucket bound: judged at 0.05 s"


def test_a_latency_without_a_threshold_is_a_mistake_that_says_what_is_missing() -> None:
    with pytest.raises(InvalidInput, match="needs a threshold"):
        judged(Filled(), slo(threshold=None))


def test_burn_rates_that_linger_do_not_count_once_the_short_window_is_well() -> None:
    tier = {"name": "page", "factor": 2, "long": "60s", "short": "20s"}
    filled = Filled()
    filled.tick(itl(100, 100), times=25)
    filled.tick(itl(0, 100), times=5)
    objective = slo(tiers=[tier])
    assert judged(filled, objective)[at("a")].tiers == ("fast", "page")
    filled.tick(itl(100, 100), times=4)
    found = judged(filled, objective)[at("a")]
    assert (found.tiers, found.bad) == (("page",), False)


def test_success_at_a_zone_is_the_gateways_word_less_what_broke_in_mid_stream() -> None:
    filled = Filled()
    zone = at("a")
    filled.tick(
        {
            ("responses", "good", zone): 100.0,
            ("responses", "bad", zone): 10.0,
            ("finished", "good", REPLICA): 90.0,
            ("finished", "bad", REPLICA): 10.0,
            ("canary_aborts", "all", REPLICA): 5.0,
        },
        times=5,
    )
    objective = slo(indicator="success", threshold=None, by=["zone", "node"])
    found = judged(filled, objective)
    assert found[zone].state.value == pytest.approx(95 / 110)
    assert found[at("a/a1")].state.value == 0.9
    assert judged(filled, objective, fresh=FRESH - {GATEWAY})[zone].blind is True


def test_states_are_accused_by_those_who_see_half_of_the_replicas_bad() -> None:
    filled = Filled()
    zone = [replica for replica in REPLICAS if at("a").contains(replica)]
    filled.tick({("availability", "all", replica): 1.0 for replica in zone}, times=5)
    evidence = {"availability": {zone[0]: frozenset({ENGINE, CLUSTER}), zone[1]: frozenset({CLUSTER})}}
    objective = slo(indicator="availability", threshold=None, fast={"below": "80%", "minSamples": 4})
    found = judged(filled, objective, evidence=evidence)[at("a")]
    assert found.accusers == {CLUSTER}


def test_two_sources_that_agree_confirm() -> None:
    filled = Filled()
    filled.tick(itl(0, 100), times=5)
    found = judged(filled, slo())[at("a")]
    failing = {replica: at("a").contains(replica) for replica in REPLICAS}
    alone = signals.witnesses([found], dict.fromkeys(REPLICAS, False))
    agreed = signals.witnesses([found], failing)
    assert signals.is_confirmed(found, alone) is False
    assert signals.is_confirmed(found, agreed) is True
    assert agreed == {at("a"): frozenset({ENGINE, CANARY})}


def test_a_target_that_nobody_accuses_is_not_confirmed_by_the_canary_alone() -> None:
    filled = Filled()
    filled.tick(itl(100, 100), times=5)
    failing = dict.fromkeys(REPLICAS, True)
    found = judged(filled, slo())[SERVICE]
    assert signals.witnesses([found], failing) == {}
