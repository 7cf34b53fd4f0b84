"""``node.hang``: a node's process is stopped: connections are taken, and nobody answers on them.

As a kernel that is stuck, or a host that swaps: nothing is closed, so that clients and health checks
wait for their time-outs. The stop hits the process that stood there when the fault was armed, and so
does its end.
"""

from __future__ import annotations

from typing import ClassVar

from chaos.drivers.port import Capability, Driver, Incarnation
from chaos.faults.base import Armed, Fault, Placed, Seen, incarnations_of, nodes_of, replicas_of
from controlplane.kernel.errors import Conflict
from controlplane.model.base import Level, Model


class NodeHangParameters(Model):
    """None: it hangs."""


class NodeHang(Fault[NodeHangParameters]):
    """Stops a node's process, with its replicas and its GPU exporter, and lets it go on afterwards.

    Streams stand still, health checks time out, scrapes fail. Seen: the process is there and
    stopped, and a replica of it does not answer. Gone: it, or another in its place, answers, and all
    its replicas are ready.
    """

    name: ClassVar[str] = "node.hang"
    level: ClassVar[Level] = "node"
    parameters: ClassVar[type[Model]] = NodeHangParameters
    needs: ClassVar[frozenset[Capability]] = frozenset({"pause"})

    def arm(self, fault: Placed[NodeHangParameters], driver: Driver) -> Armed:
        nodes = {}
        for node in nodes_of(fault.targets, driver):
            incarnation = driver.incarnation(node)
            if incarnation is None or driver.is_paused(node):
                raise Conflict(f"{node} is down or stopped already: a hang now would prove nothing")
            nodes[node] = incarnation.model_dump(mode="json")
        return Armed({"nodes": nodes}, uids=incarnations_of(fault.targets, driver))

    def inject(self, fault: Placed[NodeHangParameters], driver: Driver) -> None:
        for node, incarnation in self._stopped(fault).items():
            driver.pause(node, incarnation, fault.expires_at)

    def verify(self, fault: Placed[NodeHangParameters], driver: Driver) -> Seen:
        for node, incarnation in self._stopped(fault).items():
            if driver.incarnation(node) != incarnation:
                return Seen(yes=False, detail=f"{node} is another process by now")
            if not driver.is_paused(node):
                return Seen(yes=False, detail=f"{node} still runs")
        one_each = {replica.node: replica for replica in replicas_of(fault.targets, driver)}
        for replica in one_each.values():  # each look lasts a time-out, and all live in one process
            if driver.is_live(replica):
                return Seen(yes=False, detail=f"{replica.name} still answers")
        return Seen(yes=True, detail="the processes are there and stopped, and nobody answers")

    def undo(self, fault: Placed[NodeHangParameters], driver: Driver) -> None:
        for node, incarnation in self._stopped(fault).items():
            driver.resume(node, incarnation)

    def verify_clear(self, fault: Placed[NodeHangParameters], driver: Driver) -> Seen:
        for node in self._stopped(fault):
            waiting = [one.name for one in driver.status(node).replicas if one.state != "ready"]
            if waiting:
                return Seen(yes=False, detail=f"not ready yet: {', '.join(waiting)}")
        return Seen(yes=True, detail="all nodes answer and all their replicas are ready")

    @staticmethod
    def _stopped(fault: Placed[NodeHangParameters]) -> dict[str, Incarnation]:
        nodes = fault.undo.get("nodes", {})
        return {node: Incarnation.model_validate(found) for node, found in nodes.items()}
