"""Answers sorted into measures and targets: older names, unknown labels, evacuated zones."""

from __future__ import annotations

from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.observe.answers import Sorted, Sorter
from controlplane.observe.measures import Measures
from controlplane.observe.profile import Query, queries, shipped
from controlplane.observe.series import Row
from controlplane.observe.windows import WindowStore

SERVICE = Service.model_validate(
    {"kind": "Service", "metadata": {"name": "chat"}, "spec": {"model": "m", "zones": [{"name": "zone-a"}]}}
)
REPLICA = Target("chat", "local", "zone-a", "node-a1", "replica-a1-0")
LABELS = {"zone": "zone-a", "node": "node-a1", "replica": "replica-a1-0"}


class Bench:
    def __init__(self) -> None:
        self.store = WindowStore(coarse_slots=4)
        self.sorter = Sorter(SERVICE, self.store)
        self.sorter.place([REPLICA])

    def sort(self, profile: str, *rows: Row, measure: str) -> Sorted:
        into = Sorted()
        self.sorter.sort(query(profile, measure), rows, into)
        return into


def query(profile: str, measure: str) -> Query:
    found = queries(shipped()[profile], SERVICE)
    return next(each for each in found if any(named.measure == measure for named in each.measures.values()))


def row(name: str, value: float = 1.0, **labels: str) -> Row:
    return Row({"__name__": name, **LABELS, **labels}, value)


def test_conditions_of_a_node_are_told_apart_by_their_label() -> None:
    bench = Bench()
    rows = [
        Row({"__name__": "kube_node_status_condition", "node": "node-a1", "condition": condition}, value)
        for condition, value in (("Ready", 1.0), ("MemoryPressure", 1.0), ("GpuUnhealthy", 0.0))
    ]
    found = bench.sort("kube-state-metrics-nodes", *rows, measure="node_conditions")
    node = REPLICA.at("node")
    nameless = Row({"__name__": "kube_node_status_condition", "node": "node-a1"}, 1.0)
    bench.sort("kube-state-metrics-nodes", nameless, measure="node_conditions")  # a label may always lack
    assert found.gauges == {
        ("node_conditions/Ready", node): 1.0,
        ("node_conditions/MemoryPressure", node): 1.0,
        ("node_conditions/GpuUnhealthy", node): 0.0,
    }
    measures = Measures(SERVICE, bench.store)
    measures.gauges = found.gauges
    assert measures.value("node_conditions", SERVICE.target) == 1.0
    assert measures.value("node_conditions/GpuUnhealthy", node) == 0.0


def test_a_counter_feeds_its_replica_and_everything_wider() -> None:
    bench = Bench()
    found = bench.sort("vllm", row("vllm:generation_tokens_total", 7.0), measure="generation_tokens")
    reading = next(iter(found.counters[0]))
    assert (reading.group, reading.value, len(reading.rows)) == (("generation_tokens", REPLICA), 7.0, 4)


def test_a_zone_without_traffic_is_no_part_of_the_service() -> None:
    bench = Bench()
    bench.sorter.place([REPLICA], frozenset({"zone-a"}))
    found = bench.sort("vllm", row("vllm:generation_tokens_total"), measure="generation_tokens")
    service = bench.store.find(("generation_tokens", "all", SERVICE.target))
    (reading,) = found.counters[0]
    assert len(reading.rows) == 3
    assert service not in reading.rows


def test_finishes_are_good_bad_or_not_counted() -> None:
    bench = Bench()
    name = "vllm:request_success_total"
    rows = [row(name, finished_reason=reason) for reason in ("stop", "abort", "something-new")]
    found = bench.sort("vllm", *rows, measure="finished")
    good, bad = (bench.store.find(("finished", part, REPLICA)) for part in ("good", "bad"))
    assert [reading.rows[0] for reading in found.counters[0]] == [good, bad]


def test_of_two_names_for_a_measure_the_first_is_taken_whichever_comes_first() -> None:
    bench = Bench()
    old = row("vllm:time_per_output_token_seconds_bucket", 5.0, le="0.05")
    new = row("vllm:inter_token_latency_seconds_bucket", 9.0, le="0.05")
    bench.sort("vllm", old, new, measure="itl")
    found = bench.sort("vllm", old, new, measure="itl")
    assert [reading.value for reading in found.counters[0]] == [9.0]


def test_an_old_name_alone_will_do() -> None:
    found = Bench().sort("vllm", row("vllm:gpu_cache_usage_perc", 0.4), measure="kv_use")
    assert found.gauges == {("kv_use", REPLICA): 0.4}


def test_pods_without_a_zone_are_placed_by_their_names_and_strangers_left_out() -> None:
    bench = Bench()
    rows = [
        Row({"__name__": "kube_pod_status_ready", "pod": pod}, 1.0) for pod in ("replica-a1-0", "stranger")
    ]
    found = bench.sort("kube-state-metrics", *rows, measure="ready")
    assert found.gauges == {("ready", REPLICA): 1.0}


def test_nodes_without_a_zone_are_placed_by_their_names_and_strangers_left_out() -> None:
    bench = Bench()
    rows = [
        Row({"__name__": "kube_node_status_condition", "node": node}, 1.0) for node in ("node-a1", "node-x9")
    ]
    found = bench.sort("kube-state-metrics-nodes", *rows, measure="node_ready")
    assert found.gauges == {("node_ready", Target("chat", "local", "zone-a", "node-a1")): 1.0}


def test_a_stranger_that_joins_the_fleet_is_placed_then() -> None:
    bench = Bench()
    found = [Row({"__name__": "kube_pod_status_ready", "pod": "replica-a1-1"}, 1.0)]
    assert bench.sort("kube-state-metrics", *found, measure="ready").gauges == {}
    second = Target("chat", "local", "zone-a", "node-a1", "replica-a1-1")
    bench.sorter.place([REPLICA, second])
    assert bench.sort("kube-state-metrics", *found, measure="ready").gauges == {("ready", second): 1.0}


def test_envoys_clusters_that_are_no_zone_are_left_out() -> None:
    name, code = "envoy_cluster_upstream_rq_xx", {"envoy_response_code_class": "2"}
    rows = [Row({"__name__": name, "zone": "zone-a", **code}, 3.0), Row({"__name__": name, **code}, 9.0)]
    found = Bench().sort("envoy", *rows, measure="responses")
    assert [reading.value for reading in found.counters[0]] == [3.0]


def test_gauges_of_one_target_are_put_together_as_the_profile_says() -> None:
    bench = Bench()
    node = {"zone": "zone-a", "node": "node-a1"}
    rows = [
        Row({"__name__": "DCGM_FI_DEV_GPU_UTIL", **node, "UUID": each}, value)
        for each, value in (("a", 80.0), ("b", 20.0))
    ]
    found = bench.sort("dcgm", *rows, measure="gpu_use")
    assert found.gauges == {("gpu_use", Target("chat", "local", "zone-a", "node-a1")): 0.5}
