"""kube-state-metrics' series from a fleet with a lost node and a replica that crashes again and again."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from chaos.lab.gateway import kube
from chaos.lab.gateway.declared import Declared
from chaos.lab.gateway.fleet import Fleet
from chaos.lab.gateway.writelog import SCHEDULABLE, WriteLog
from chaos.lab.layout import LabSettings, Layout, plan
from chaos.lab.processes import ProcessTable
from controlplane.kernel.clock import VirtualClock

Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]
SINCE = datetime(2026, 1, 1, tzinfo=UTC)


async def scrape(layout: Layout) -> bytes:
    """Zone a's first node answers, all others never did; its second replica has crashed three times."""
    log = WriteLog(layout.state_dir / "gateway", VirtualClock())
    place = "chat/local/zone-a/node-a1"
    log.append(log.draft(SCHEDULABLE, place, before=True, after=False, version="1", by=None))
    fleet = Fleet(layout, ProcessTable(layout.state_dir), VirtualClock(), Declared(log))
    node = fleet.nodes["node-a1"]
    node.misses = 0
    for replica in fleet.shown(node):
        replica.uid, replica.state, replica.since = f"{replica.config.name}-1", "ready", SINCE
        replica.pod = f"{replica.config.name}-pod"
    crashed = node.replicas["replica-a1-1"]
    crashed.gpu_offered = False
    crashed.restarts, crashed.state, crashed.backoff, crashed.exit_code = 2, "stopped", True, 1
    text = kube.exposition(kube.FleetCollector(layout, fleet))
    await fleet.close()
    return text


@pytest.fixture
def series(tmp_path: Path) -> Series:
    text = asyncio.run(scrape(plan(tmp_path, LabSettings()))).decode()
    families = text_string_to_metric_families(text)
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def value(series: Series, name: str, **labels: str) -> float:
    """The one series that has these labels (and maybe others)."""
    found = [
        number
        for (metric, pairs), number in series.items()
        if metric == name and set(labels.items()) <= set(pairs)
    ]
    assert len(found) == 1, f"{name} {labels}: {len(found)} series"
    return found[0]


@pytest.mark.parametrize(
    ("node", "status", "expected"),
    [("node-a1", "true", 1), ("node-a1", "unknown", 0), ("node-a2", "true", 0), ("node-a2", "unknown", 1)],
)
def test_a_node_that_does_not_answer_is_unknown(
    series: Series, node: str, status: str, expected: float
) -> None:
    assert value(series, "kube_node_status_condition", node=node, status=status) == expected


def test_pods_are_ready_by_their_state_and_running_all_the_same(series: Series) -> None:
    assert value(series, "kube_pod_status_ready", pod="replica-a1-0", condition="true") == 1
    assert value(series, "kube_pod_status_ready", pod="replica-a1-1", condition="true") == 0
    assert value(series, "kube_pod_status_ready", pod="replica-a1-1", condition="false") == 1
    assert value(series, "kube_pod_status_phase", pod="replica-a1-1", phase="Running") == 1


def test_pods_join_nodes_and_nodes_join_zones(series: Series) -> None:
    assert value(series, "kube_pod_info", pod="replica-a1-0", node="node-a1", uid="replica-a1-0-pod") == 1
    assert value(series, "kube_node_labels", node="node-c2", label_topology_kubernetes_io_zone="zone-c") == 1


def test_deployments_want_all_and_count_the_ready(series: Series) -> None:
    assert value(series, "kube_deployment_spec_replicas", deployment="chat-zone-a") == 4
    assert value(series, "kube_deployment_status_replicas_available", deployment="chat-zone-a") == 1
    assert value(series, "kube_deployment_status_replicas_available", deployment="chat-zone-b") == 0


def test_gpus_starts_and_restarts_are_told(series: Series) -> None:
    assert value(series, "kube_node_status_allocatable", node="node-a1", resource="nvidia_com_gpu") == 2
    assert value(series, "kube_node_status_allocatable", node="node-a2", resource="nvidia_com_gpu") == 3
    assert value(series, "kube_pod_container_resource_requests", pod="replica-a1-0", node="node-a1") == 1
    assert value(series, "kube_pod_container_status_restarts_total", pod="replica-a1-1") == 2
    assert value(series, "kube_pod_start_time", pod="replica-a1-0") == SINCE.timestamp()


def test_a_crash_loop_is_told_in_the_words_of_kubernetes(series: Series) -> None:
    loop = {"pod": "replica-a1-1", "uid": "replica-a1-1-pod", "container": "engine"}
    waiting = "kube_pod_container_status_waiting_reason"
    assert value(series, waiting, reason="CrashLoopBackOff", **loop) == 1
    assert value(series, "kube_pod_container_status_last_terminated_reason", reason="Error", **loop) == 1
    assert value(series, "kube_pod_container_status_last_terminated_exitcode", **loop) == 1
    assert {dict(pairs)["pod"] for name, pairs in series if name == waiting} == {"replica-a1-1"}


def test_a_slot_that_was_never_filled_has_no_pod(series: Series) -> None:
    assert {dict(pairs)["pod"] for (name, pairs) in series if name == "kube_pod_info"} == {
        "replica-a1-0",
        "replica-a1-1",
    }
