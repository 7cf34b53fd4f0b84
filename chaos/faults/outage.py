"""``zone.outage`` and ``node.kill``: nodes are killed, as when a hall or a host loses its power.

The kill hits exactly the processes that stood there when the fault was armed: a second injection
after a crash cannot kill what somebody has started meanwhile. It has no time limit of its own in
the target, because nothing of the target is left; the ledger and its reaper end it.
"""

from __future__ import annotations

from typing import ClassVar

from chaos.drivers.port import Capability, Driver, Incarnation
from chaos.faults.base import Armed, Fault, Placed, Seen, incarnations_of, nodes_of
from controlplane.kernel.errors import Conflict, Unavailable
from controlplane.model.base import Level, Model


class OutageParameters(Model):
    """None: an outage is an outage."""


class _Outage(Fault[OutageParameters]):
    """What the loss of a zone and of a node have in common."""

    parameters: ClassVar[type[Model]] = OutageParameters
    needs: ClassVar[frozenset[Capability]] = frozenset({"kill"})

    def arm(self, fault: Placed[OutageParameters], driver: Driver) -> Armed:
        nodes = {}
        for node in nodes_of(fault.targets, driver):
            incarnation = driver.incarnation(node)
            if incarnation is None:
                raise Conflict(f"{node} is down already: an outage now would prove nothing")
            nodes[node] = incarnation.model_dump(mode="json")
        zones = tuple(sorted(target.name for target in fault.targets if target.level == "zone"))
        lost = [target for target in fault.targets if target.level == "node"]
        return Armed({"nodes": nodes}, zones=zones, uids=incarnations_of(lost, driver))

    def inject(self, fault: Placed[OutageParameters], driver: Driver) -> None:
        for node, incarnation in self._killed(fault).items():
            driver.kill(node, incarnation)

    def verify(self, fault: Placed[OutageParameters], driver: Driver) -> Seen:
        for node, incarnation in self._killed(fault).items():
            if driver.incarnation(node) == incarnation:
                return Seen(yes=False, detail=f"{node} still runs")
            if _answers(node, driver):
                return Seen(yes=False, detail=f"{node} still answers")
        return Seen(yes=True, detail="all processes are gone and none answers")

    def undo(self, fault: Placed[OutageParameters], driver: Driver) -> None:
        for node in self._killed(fault):
            driver.respawn(node)

    def verify_clear(self, fault: Placed[OutageParameters], driver: Driver) -> Seen:
        for node in self._killed(fault):
            status = driver.status(node)
            waiting = [replica.name for replica in status.replicas if replica.state != "ready"]
            if waiting:
                return Seen(yes=False, detail=f"not ready yet: {', '.join(waiting)}")
        return Seen(yes=True, detail="all nodes answer and all their replicas are ready")

    @staticmethod
    def _killed(fault: Placed[OutageParameters]) -> dict[str, Incarnation]:
        nodes = fault.undo.get("nodes", {})
        return {node: Incarnation.model_validate(found) for node, found in nodes.items()}


class ZoneOutage(_Outage):
    """Kills all nodes of a zone and starts them again when it is over.

    Requests in flight break off, new ones are refused by the gateway while weights still point
    there. Seen: the processes are gone and their sockets silent. Gone: every node answers and all
    its replicas are ready.
    """

    name: ClassVar[str] = "zone.outage"
    level: ClassVar[Level] = "zone"


class NodeKill(_Outage):
    """Kills a node with its replicas and its GPU exporter, and starts it again when it is over.

    The gateway's health checks take its replicas out; the zone goes on with less. Whoever replaces
    the node cures it. Seen and gone as for a zone.
    """

    name: ClassVar[str] = "node.kill"
    level: ClassVar[Level] = "node"


def _answers(node: str, driver: Driver) -> bool:
    try:
        driver.status(node)
    except Unavailable:
        return False
    return True
