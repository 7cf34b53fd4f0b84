"""Each engine's exposition gives each indicator that its profile promises, as worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from controlplane.model.service import Objectives
from controlplane.model.target import Target
from controlplane.observe.exposition import Sample, parse
from controlplane.observe.grading import exporters, grade_all, offer_of
from controlplane.observe.profile import Generation, shipped
from controlplane.observe.recognise import examine
from tests.unit.controlplane.observe.replay import World, as_text

MIB = 1048576
ZONE = Target("chat", "local", "zone-a")
NODES = [Target("chat", "local", f"zone-{letter}", f"node-{letter}1") for letter in "ab"]
NAN = float("nan")

TRUTH: dict[str, Any] = {
    # Each tick of 2 s, at each replica: 10 requests of 100 prompt tokens, 40 of them cached, and 20 answered.
    "ttft": {0.1: 2, 0.5: 6, 1.0: 8, 2.5: 10, math.inf: 10},
    "itl": {0.01: 20, 0.05: 180, 0.1: 200, math.inf: 200},
    "tpot": {0.01: 1, 0.05: 9, 0.1: 10, math.inf: 10},
    "e2e": {1.0: 2, 5.0: 8, 10.0: 10, math.inf: 10},
    "context_bound": {1000.0: 5, 8000.0: 10, math.inf: 10},
    "generation_tokens": 200.0,
    "prompt_tokens": 1000.0,
    "prefill_tokens": {"good": 600.0, "bad": 400.0},
    "cached_tokens": 400.0,
    "looked_up": 1000.0,
    "prefix": {"good": 400.0, "bad": 600.0},
    "prompt_lengths": 1000.0,
    "output_lengths": 200.0,
    "lengths": 10.0,
    "queue_seconds": 2.0,
    "queued": 10.0,
    "prefill_seconds": 1.0,
    "prefills": 5.0,
    "preemptions": 1.0,
    "request_seconds": 30.0,
    "steps": 40.0,
    "finished": {"good": 9.0, "bad": 1.0},
    "running": 8.0,
    "queue": 4.0,
    "kv_use": 0.5,
    "kv_tokens": 64000.0,
    "kv_tokens_used": 16000.0,
    "kv_bytes": 8e9,
    "kv_blocks": 4000.0,
    "kv_block_tokens": 16.0,
    "context_length": 16000.0,
    "prefix_hit_rate": 0.4,
    "gpu_use": 0.7,
    "gpu_power": 300.0,
    "gpu_memory_used": 60000.0 * MIB,
    "gpu_memory_total": 80000.0 * MIB,
    "gpu_energy": 600.0,
}
RELEASES = [
    (name, generation)
    for name, profile in shipped().items()
    if profile.engine
    for generation in profile.engine.generations
]


def by_hand(offered: set[str]) -> dict[str, float]:
    """Work out every value at a zone of two replicas and two GPUs, from what each tick brings.

    ``offered``: the measures that the engine shows, since some values have several ways.
    """
    in_time = min([0.8] * ("ttft" in offered) + [0.9] * bool({"tpot", "itl"} & offered), default=1.0)
    window = 16000.0 if "context_length" in offered else 8000.0
    cached = {"cached_tokens", "prefix"} & offered
    tokens = 2 * 64000.0
    pool = 2 * 8e9 if "kv_bytes" in offered else 2 * 60000.0 * MIB
    return {
        "context_window": window,
        "context_use": (1000.0 + 200.0) / 10.0 / window,
        "tokens_per_second": 2 * 200.0 / 2.0,
        "decode_throughput": 2 * 200.0 / 2.0,
        "etpm_estimate": 60 * 200.0 * 0.9 * in_time,
        "ttft": 0.8,
        "ttft_mean_floor": 2.0 / 10.0 + 1.0 / 5.0,
        "tpot": 0.9,
        "itl": 180 / 200,
        "e2e": 1.0,
        "e2e_mean": 30.0 / 10.0,
        "e2e_p95": 5.0 + (10.0 - 5.0) * (9.5 - 8) / (10 - 8),
        "ttft_p95": 1.0 + (2.5 - 1.0) * (9.5 - 8) / (10 - 8),
        "sla_concurrency": 2 * 8.0 * in_time,
        "success": 0.9,
        "availability": 1.0,
        "gpu_use": 0.7,
        "kv_use": 0.5 if "kv_use" in offered else 16000.0 / 64000.0,
        "gpu_memory_use": 60000.0 / 80000.0,
        "memory_per_token": pool / tokens,
        "prefill_throughput": 2 * (600.0 if cached or "prefill_tokens" in offered else 1000.0) / 2.0,
        "prefix_hits": 0.4,
        "energy_per_token": 2 * 300.0 / 200.0,
        "tokens_per_joule": 200.0 / (2 * 300.0),
        "cost_per_million": 2 * 2.5 / (200.0 * 3600 / 1e6),
        "roi": (200.0 * 3600 / 1e6 * 20 - 2 * 2.5) / (2 * 2.5),
        "scaling_efficiency": 1.0,
    }


def gpus(ticks: int, code: int = 0) -> dict[Target, list[Sample]]:
    """Return what the DCGM exporter shows: two GPUs a node, each repeated on two MIG instances."""
    fields = {
        "DCGM_FI_DEV_GPU_UTIL": 70.0,
        "DCGM_FI_DEV_POWER_USAGE": 300.0,
        "DCGM_FI_DEV_FB_USED": 60000.0,
        "DCGM_FI_DEV_FB_FREE": 20000.0,
        "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION": 600_000.0 * ticks,
    }
    found: dict[Target, list[Sample]] = {}
    for node in NODES:
        for card in ("0", "1"):
            for instance in ("7", "8"):
                labels = {"gpu": card, "UUID": f"{node.node}/{card}", "GPU_I_ID": instance}
                found.setdefault(node, []).extend(Sample(name, labels, each) for name, each in fields.items())
            xid = {"gpu": card, "UUID": f"{node.node}/{card}", "pod": f"replica-{node.node}-{card}"}
            xid |= {"err_code": str(code), "err_msg": "x"} if code else {}
            found[node].append(Sample("DCGM_FI_DEV_XID_ERRORS", xid, float(code)))
    return found


def run(world: World, ticks: int, *, dcgm: bool = True) -> None:
    for _ in range(ticks):
        world.extra |= gpus(world.replicas[0].ticks + 1) if dcgm else {}
        world.tick()


@pytest.mark.parametrize(("engine", "generation"), RELEASES, ids=lambda part: getattr(part, "name", part))
def test_what_is_promised_is_right_and_what_is_not_is_unknown(engine: str, generation: Generation) -> None:
    profile = shipped()[engine]
    own_gpus = engine == "triton"
    world = World(engine, generation, TRUTH)
    run(world, 7, dcgm=not own_gpus)
    offer = offer_of(profile, generation)
    expected = by_hand(set(offer.series))
    wrong, seen = {}, 0
    for row in grade_all(offer, {} if own_gpus else {"dcgm": shipped()["dcgm"]}):
        name = row.reads or row.indicator
        if name == "volatility" or (row.indicator == "etpm" and not row.reads):
            continue
        wanted = expected[name] if row.reads or row.with_ else None
        seen += wanted is not None
        if world.value(name, ZONE) != (None if wanted is None else pytest.approx(wanted, rel=0.01)):
            wrong[row.indicator] = (world.value(name, ZONE), wanted)
    assert wrong == {}
    assert seen >= 5
    for name in ("ttft_p95", "e2e_p95"):
        if name.removesuffix("_p95") in offer.series:
            assert world.value(name, ZONE) == pytest.approx(expected[name], rel=0.01)


def test_what_needs_another_source_is_unknown_without_it() -> None:
    world = newest()
    run(world, 3, dcgm=False)
    names = ("gpu_use", "gpu_memory_use", "memory_per_token", "energy_per_token", "tokens_per_joule", "etpm")
    assert [world.value(name, ZONE) for name in names] == [None] * len(names)


@pytest.mark.parametrize(("engine", "generation"), RELEASES, ids=lambda part: getattr(part, "name", part))
def test_a_text_of_a_release_is_recognised_and_graded_as_its_profile_says(
    engine: str, generation: Generation
) -> None:
    world = World(engine, generation, TRUTH)
    marks = [Sample(name, {}, 0.0) for name in generation.has if not _is_shown(name, world)]
    text = as_text([*world.replicas[0].samples(), *marks])
    report = examine(parse(text, "text"), "text", shipped(), Objectives())
    found = report.recognised
    assert (found.profile, found.generation, found.sure) == (engine, generation.name, "certain")
    promised = grade_all(offer_of(shipped()[engine], generation), exporters(shipped()))
    assert [(row.indicator, row.grade, row.bound, row.series) for row in report.indicators] == [
        (row.indicator, row.grade, row.bound, row.series) for row in promised
    ]


def _is_shown(name: str, world: World) -> bool:
    return any(sample.name.removesuffix("_bucket") == name for sample in world.replicas[0].samples())


def newest(engine: str = "vllm", **truth: Any) -> World:
    known = shipped()[engine].engine
    assert known is not None
    return World(engine, known.generations[-1], {**TRUTH, **truth})


def close(value: float | None, expected: float) -> bool:
    return value == pytest.approx(expected, rel=0.01)


def test_clients_that_count_make_etpm_cost_and_return_exact() -> None:
    world = newest()
    for _ in range(7):
        effective = Sample(
            "fleetward_traffic_effective_tokens_total", {}, 300.0 * (world.replicas[0].ticks + 1)
        )
        world.extra[ZONE] = [effective]
        world.tick()
    assert close(world.value("etpm", ZONE), 60 * 150.0)
    assert close(world.value("cost_per_million", ZONE), 2 * 2.5 / (150 * 3600 / 1e6))
    assert close(world.value("roi", ZONE), (0.54 * 20 - 5.0) / 5.0)


def test_a_restart_is_not_a_loss() -> None:
    world = newest()
    run(world, 5)
    world.replicas[0].ticks = 0
    run(world, 3)
    assert close(world.value("tokens_per_second", ZONE), 200.0)
    assert close(world.value("prefix_hits", ZONE), 0.4)


def test_what_gathered_in_a_gap_is_spread_over_it() -> None:
    world = newest()
    run(world, 6)
    world.replicas[0].gone = True
    run(world, 2)
    world.replicas[0].gone = False
    run(world, 3)
    assert close(world.value("tokens_per_second", ZONE), 200.0)
    assert close(world.value("energy_per_token", ZONE), 3.0)


def test_nan_is_no_sample() -> None:
    world = newest()
    run(world, 6)
    world.replicas[0].truth |= {"kv_use": NAN, "generation_tokens": NAN}
    run(world, 1)
    assert close(world.value("kv_use", ZONE), 0.5)
    world.replicas[0].truth |= {"kv_use": 0.5, "generation_tokens": 200.0}
    run(world, 2)
    assert close(world.value("tokens_per_second", ZONE), 200.0)


def test_series_that_are_renamed_by_an_upgrade_go_on() -> None:
    known = shipped()["vllm"].engine
    assert known is not None
    old = next(each for each in known.generations if each.name.startswith("0.8"))
    world = World("vllm", old, TRUTH)
    run(world, 6)
    for replica in world.replicas:
        replica.generation, replica.ticks = known.generations[-1], 0
    run(world, 7)
    expected = by_hand(set(offer_of(shipped()["vllm"], known.generations[-1]).series))
    for name in ("itl", "kv_use", "prefix_hits", "prefill_throughput", "etpm_estimate"):
        assert close(world.value(name, ZONE), expected[name]), name


@pytest.mark.parametrize(("engine", "older"), [("vllm", "0.8"), ("sglang", "0.5.0")])
def test_series_that_are_renamed_by_a_rollback_go_on(engine: str, older: str) -> None:
    known = shipped()[engine].engine
    assert known is not None
    old = next(each for each in known.generations if each.name.startswith(older))
    world = newest(engine, ttft={1.0: 10, math.inf: 10})
    run(world, 6)
    for replica in world.replicas:
        replica.generation, replica.ticks = old, 0
    run(world, 7)
    offered = set(offer_of(shipped()[engine], old).series)
    expected = by_hand(offered) | {"sla_concurrency": 2 * 8.0 * 0.9, "etpm_estimate": 60 * 200.0 * 0.9 * 0.9}
    names = ["itl", "kv_use", "prefix_hits", "sla_concurrency"]
    for name in [*names, "tokens_per_second", "prefill_throughput", "etpm_estimate"]:
        assert close(world.value(name, ZONE), expected[name]), name


def test_releases_beside_each_other_add_up() -> None:
    known = shipped()["vllm"].engine
    assert known is not None
    world = newest()
    world.replicas[0].generation = next(each for each in known.generations if each.name.startswith("0.8"))
    run(world, 7)
    assert close(world.value("prefill_throughput", ZONE), 600.0)
    assert close(world.value("prefix_hits", ZONE), 0.4)


def test_a_zone_that_vanishes_takes_nothing_from_the_other() -> None:
    world = newest()
    run(world, 6)
    for replica in world.replicas[2:]:
        replica.gone = True
    del world.extra[NODES[1]]
    for _ in range(6):
        world.extra[NODES[0]] = gpus(world.replicas[0].ticks + 1)[NODES[0]]
        world.tick()
    assert close(world.value("tokens_per_second", ZONE), 200.0)
    assert close(world.value("tokens_per_second", ZONE.parent() or ZONE), 200.0)
    assert world.value("kv_use", Target("chat", "local", "zone-b")) is None
    assert world.value("success", Target("chat", "local", "zone-b")) is None


def test_a_latched_code_stays_with_its_card_and_repeated_instances_count_once() -> None:
    world = newest()
    run(world, 3)
    world.extra = gpus(4, code=79)
    found = world.tick()
    assert {card.values["gpu_xid"] for card in found.cards} == {79.0}
    assert len(found.cards) == 4
    assert close(world.value("gpu_power", ZONE), 600.0)


def test_ranks_that_all_report_count_once_and_ranks_of_data_add_up() -> None:
    world, scheduler = newest("sglang"), {"sglang:num_running_reqs", "sglang:realtime_tokens_total"}
    for _ in range(7):
        for replica in world.replicas:
            replica.ticks += 1
            own = [sample for sample in replica.samples() if sample.name in scheduler]
            replica.ticks -= 1
            world.extra[replica.target] = [
                Sample(each.name, {**each.labels, **rank}, each.value)
                for each in own
                for rank in ({"tp_rank": "1"}, {"dp_rank": "1"}, {"dp_rank": "1", "tp_rank": "1"})
            ]
        world.tick()
    assert close(world.value("running", ZONE), 2 * 2 * 8.0)
    assert close(world.value("tokens_per_second", ZONE), 2 * 200.0)


def test_volatility_is_the_spread_over_the_mean() -> None:
    world = newest()
    truth = [replica.truth for replica in world.replicas]
    total = 0.0
    for tick in range(65):
        rate = 100.0 if (tick // 5) % 2 else 300.0
        total += rate
        for each, replica in zip(truth, world.replicas, strict=True):
            each["generation_tokens"] = total / (replica.ticks + 1)
        world.tick()
    assert close(world.value("volatility", ZONE), (300.0 - 100.0) / 200.0)


def test_scaling_is_known_only_while_work_waits() -> None:
    world = newest()
    world.replicas[1].truth["generation_tokens"] = 100.0
    run(world, 7)
    assert close(world.value("scaling_efficiency", ZONE), (100.0 + 50.0) / (2 * 100.0))
    for replica in world.replicas:
        replica.truth["queue"] = 0.0
    run(world, 1)
    assert world.value("scaling_efficiency", ZONE) is None


def test_power_that_is_not_in_the_gpu_hour_is_added() -> None:
    world = newest()
    economics = world.service.spec.economics
    assert economics is not None
    priced = economics.model_copy(update={"power_price": 0.5, "pue": 1.5})
    spec = world.service.spec.model_copy(update={"economics": priced})
    world.observer.measures.service = world.service.model_copy(update={"spec": spec})
    run(world, 7)
    assert close(world.value("cost_per_million", ZONE), (2 * 2.5 + 0.6 * 1.5 * 0.5) / 0.72)


def test_without_economics_there_is_no_cost() -> None:
    world = newest()
    spec = world.service.spec.model_copy(update={"economics": None})
    world.observer.measures.service = world.service.model_copy(update={"spec": spec})
    run(world, 7)
    assert (world.value("cost_per_million", ZONE), world.value("roi", ZONE)) == (None, None)
