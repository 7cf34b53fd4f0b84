"""The lab's fleet as kube-state-metrics would show it: the series that the indicators join on.

Label sets are those of kube-state-metrics 2.x (with the zone label on its allow-list). A slot
holds a pod, a node process is a node, a zone a Deployment. A node that does not answer is Ready=unknown
and its pods keep their phase, as in a cluster; their readiness goes at once, which in a cluster
takes the node controller some 40 s.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from chaos.lab.gateway.fleet import GPU_MODEL, Fleet, NodeSeen, ReplicaSeen
from chaos.lab.layout import Layout

NAMESPACE = "llm"
CONTAINER = "engine"
_STATES = ("true", "false", "unknown")


class FleetCollector:
    """Collects from the fleet as last polled; every scrape is made anew."""

    def __init__(self, layout: Layout, fleet: Fleet) -> None:
        self._layout = layout
        self._fleet = fleet

    def collect(self) -> Iterator[Metric]:
        yield from self._nodes()
        yield from self._pods()
        yield from self._containers()
        yield from self._deployments()

    def _nodes(self) -> Iterator[Metric]:
        condition = _gauge(
            "kube_node_status_condition", "The condition of a cluster node.", "node condition status"
        )
        labels = _gauge(
            "kube_node_labels",
            "Kubernetes labels converted to Prometheus labels.",
            "node label_topology_kubernetes_io_zone label_nvidia_com_gpu_product",
        )
        cordoned = _gauge("kube_node_spec_unschedulable", "Whether a node can schedule new pods.", "node")
        gpus = _gauge(
            "kube_node_status_allocatable",
            "The allocatable for different resources of a node that are available for scheduling.",
            "node resource unit",
        )
        for name, node in self._fleet.nodes.items():
            for state in _STATES:
                now = "true" if node.ready else "unknown"
                condition.add_metric([name, "Ready", state], float(state == now))
            labels.add_metric([name, node.config.zone, GPU_MODEL.replace(" ", "-")], 1)
            cordoned.add_metric([name], float(not self._fleet.schedulable(name)))
            offered = sum(replica.gpu_offered for replica in node.replicas.values())
            gpus.add_metric([name, "nvidia_com_gpu", "integer"], offered)
        yield from (condition, labels, cordoned, gpus)

    def _pods(self) -> Iterator[Metric]:
        info = _gauge(
            "kube_pod_info",
            "Information about pod.",
            "namespace pod uid host_ip pod_ip node created_by_kind created_by_name priority_class",
        )
        ready = _gauge(
            "kube_pod_status_ready",
            "Describes whether the pod is ready to serve requests.",
            "namespace pod uid condition",
        )
        phase = _gauge("kube_pod_status_phase", "The pods current phase.", "namespace pod uid phase")
        start = _gauge("kube_pod_start_time", "Start time in unix timestamp for a pod.", "namespace pod uid")
        for node, pod in self._seen():
            slot, zone = pod.config.name, node.config.zone
            owner = ["ReplicaSet", self._fleet.owner(zone).name]
            info.add_metric(
                [NAMESPACE, slot, pod.pod, "127.0.0.1", "127.0.0.1", node.config.node, *owner, ""], 1
            )
            for state in _STATES:
                now = "true" if node.is_ready(pod) else "false"
                ready.add_metric([NAMESPACE, slot, pod.pod, state], float(state == now))
            for name in ("Pending", "Succeeded", "Failed", "Unknown", "Running"):
                phase.add_metric([NAMESPACE, slot, pod.pod, name], float(name == "Running"))
            if pod.since is not None:
                start.add_metric([NAMESPACE, slot, pod.pod], pod.since.timestamp())
        yield from (info, ready, phase, start)

    def _containers(self) -> Iterator[Metric]:
        restarts = CounterMetricFamily(
            "kube_pod_container_status_restarts",
            "The number of container restarts per container.",
            labels=["namespace", "pod", "uid", "container"],
        )
        requests = _gauge(
            "kube_pod_container_resource_requests",
            "The number of requested request resource by a container.",
            "namespace pod uid container node resource unit",
        )
        waiting = _gauge(
            "kube_pod_container_status_waiting_reason",
            "Describes the reason the container is currently in waiting state.",
            "namespace pod uid container reason",
        )
        ended = _gauge(
            "kube_pod_container_status_last_terminated_reason",
            "Describes the last reason the container was in terminated state.",
            "namespace pod uid container reason",
        )
        code = _gauge(
            "kube_pod_container_status_last_terminated_exitcode",
            "Describes the exit code for the last container in terminated state.",
            "namespace pod uid container",
        )
        for node, pod in self._seen():
            names = [NAMESPACE, pod.config.name, pod.pod, CONTAINER]
            restarts.add_metric(names, pod.restarts)
            requests.add_metric([*names, node.config.node, "nvidia_com_gpu", "integer"], 1)
            if pod.backoff:
                waiting.add_metric([*names, "CrashLoopBackOff"], 1)
            if pod.exit_code is not None:
                ended.add_metric([*names, "Error"], 1)
                code.add_metric(names, pod.exit_code)
        yield from (restarts, requests, waiting, ended, code)

    def _deployments(self) -> Iterator[Metric]:
        wanted = _gauge(
            "kube_deployment_spec_replicas",
            "Number of desired pods for a deployment.",
            "namespace deployment",
        )
        available = _gauge(
            "kube_deployment_status_replicas_available",
            "The number of available replicas per deployment.",
            "namespace deployment",
        )
        for zone in self._layout.zones:
            name = self._fleet.owner(zone).name
            pods = [(node, pod) for node in self._fleet.in_zone(zone) for pod in self._fleet.shown(node)]
            wanted.add_metric([NAMESPACE, name], self._fleet.wanted(zone))
            available.add_metric([NAMESPACE, name], sum(node.is_ready(pod) for node, pod in pods))
        yield from (wanted, available)

    def _seen(self) -> Iterator[tuple[NodeSeen, ReplicaSeen]]:
        """Pods that have been seen at all; a slot never filled has none."""
        for node in self._fleet.nodes.values():
            yield from ((node, replica) for replica in node.replicas.values() if replica.uid)


def exposition(collector: FleetCollector) -> bytes:
    """The Prometheus text of one scrape."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    return generate_latest(registry)


def _gauge(name: str, text: str, labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, labels=labels.split())
