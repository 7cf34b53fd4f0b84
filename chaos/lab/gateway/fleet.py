"""What stands where: asks each node for its replicas about every second, as a kubelet would report.

A node that does not answer twice in a row is not ready, and neither are its replicas; their last
uids stay known, as they do in a cluster whose node is lost. It reads the nodes' status, asks for
restarts and replaces nodes' processes. It never touches their faults.
"""

from __future__ import annotations

import asyncio
import signal
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

import aiohttp
from pydantic import BaseModel, Field, ValidationError

from chaos.lab.gateway.declared import Declared
from chaos.lab.gateway.writelog import ROTATION, SCHEDULABLE
from chaos.lab.layout import Layout
from chaos.lab.node.config import NodeConfig, ReplicaConfig
from chaos.lab.processes import ProcessRecord, ProcessTable
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Ambiguous, NotFound, Unavailable
from controlplane.model.target import Target
from controlplane.model.topology import (
    GpuView,
    NodeView,
    Owner,
    ReplicaState,
    ReplicaView,
    Topology,
    ZoneView,
)

ZONE_LABEL = "topology.kubernetes.io/zone"
GPU_MODEL = "NVIDIA H100 80GB HBM3"
POLL_INTERVAL = 1.0  # seconds
_POLL_TIMEOUT = 0.9  # seconds: a poll ends before the next begins
_MISSES = 2  # polls without an answer until a node counts as lost
_RESTART_TIMEOUT = 3.0  # seconds: within what a platform's caller waits
_GONE_WITHIN = 2.0  # seconds until a killed process must be gone


class _ReplicaStatus(BaseModel):
    name: str
    uid: str
    state: ReplicaState
    pod: str
    restarts: int
    backoff: bool
    exit_code: int | None = Field(None, alias="exitCode")
    gpu_offered: bool = Field(True, alias="gpuOffered")
    running: int = 0
    waiting: int = 0


class _NodeStatus(BaseModel):
    replicas: tuple[_ReplicaStatus, ...]


@dataclass
class ReplicaSeen:
    """A replica as last seen: its pod, first seen at ``since``, and the incarnation that runs in it."""

    config: ReplicaConfig
    uid: str = ""
    state: ReplicaState = "unknown"
    pod: str = ""
    since: datetime | None = None
    restarts: int = 0
    backoff: bool = False
    exit_code: int | None = None
    requests: int = 0
    gpu_offered: bool = True
    reported: bool = False
    """Whether the node said at its last answer that something runs in the slot."""

    def take(self, report: _ReplicaStatus, now: datetime) -> None:
        """Believe what the node reports."""
        self.reported = True
        if self.pod != report.pod:
            self.pod, self.since = report.pod, now
        self.uid, self.state = report.uid, report.state
        self.requests, self.gpu_offered = report.running + report.waiting, report.gpu_offered
        self.restarts, self.backoff, self.exit_code = report.restarts, report.backoff, report.exit_code

    def gone(self) -> None:
        """Believe that nothing runs here."""
        self.reported = False
        self.uid, self.state, self.pod, self.since, self.requests = "", "unknown", "", None, 0


@dataclass
class NodeSeen:
    """A node as last seen; ``misses`` counts polls in a row without an answer."""

    config: NodeConfig
    session: aiohttp.ClientSession
    replicas: dict[str, ReplicaSeen]
    uid: str = ""
    misses: int = _MISSES

    @property
    def ready(self) -> bool:
        return self.misses < _MISSES

    def is_ready(self, replica: ReplicaSeen) -> bool:
        return self.ready and replica.state == "ready"


class Fleet:
    """The nodes and replicas of one lab."""

    def __init__(self, layout: Layout, table: ProcessTable, clock: Clock, declared: Declared) -> None:
        self._layout = layout
        self._table = table
        self._clock = clock
        self._declared = declared
        self._observed_at = clock.now()
        self.nodes: dict[str, NodeSeen] = {
            config.node: NodeSeen(
                config,
                aiohttp.ClientSession(connector=aiohttp.UnixConnector(path=str(config.socket), limit=4)),
                {replica.name: ReplicaSeen(replica) for replica in config.slots},
            )
            for config in layout.nodes
        }

    async def close(self) -> None:
        for node in self.nodes.values():
            await node.session.close()

    async def watch(self, afterwards: Callable[[], Awaitable[None]]) -> None:
        """Poll all nodes for ever, and call what follows from what was seen."""
        while True:
            started = self._clock.monotonic()
            await self.poll()
            await afterwards()
            await asyncio.sleep(max(0.05, POLL_INTERVAL - (self._clock.monotonic() - started)))

    async def poll(self) -> None:
        """Ask every node once, all at the same time."""
        uids = {record.name: _machine(record) for record in self._table.records()}
        await asyncio.gather(*(self._poll(node, uids.get(name, "")) for name, node in self.nodes.items()))
        self._observed_at = self._clock.now()

    async def _poll(self, node: NodeSeen, uid: str) -> None:
        try:
            status = await self._status(node)
        except Unavailable:
            node.misses += 1
            return
        node.misses = 0
        node.uid = uid or node.uid
        reports = {report.name: report for report in status.replicas}
        for name, replica in node.replicas.items():
            report = reports.get(name)
            if report is not None:
                replica.take(report, self._clock.now())
            else:
                replica.gone()

    async def _status(self, node: NodeSeen) -> _NodeStatus:
        timeout = aiohttp.ClientTimeout(total=_POLL_TIMEOUT)
        try:
            async with node.session.get("http://node/status", timeout=timeout) as response:
                response.raise_for_status()
                return _NodeStatus.model_validate_json(await response.read())
        except (aiohttp.ClientError, TimeoutError, ValidationError, OSError) as error:
            raise Unavailable(f"{node.config.node} does not answer: {error!r}") from error

    # ── parts and their versions ────────────────────────────────────────────────────────────────────────────

    def find(self, replica: str) -> tuple[NodeSeen, Target]:
        """The node that holds a replica, and the replica's full name. Raises NotFound."""
        for node in self.nodes.values():
            if replica in node.replicas:
                settings = self._layout.settings
                place = Target(
                    settings.service, settings.cluster, node.config.zone, node.config.node, replica
                )
                return node, place
        raise NotFound(f"no replica called {replica!r}")

    def find_node(self, name: str) -> Target:
        """A node's full name. Raises NotFound."""
        if name not in self.nodes:
            raise NotFound(f"no node called {name!r}")
        settings = self._layout.settings
        return Target(settings.service, settings.cluster, self.nodes[name].config.zone, name)

    def uid_at(self, place: Target) -> str:
        """The uid last seen of a node or a replica."""
        node = self.nodes[str(place.node)]
        return node.uid if place.replica is None else node.replicas[place.replica].uid

    def replica_version(self, name: str) -> str:
        """Moves with a replica's incarnation and with what is declared about it."""
        _, place = self.find(name)
        return f"{self.uid_at(place)}.{self._declared.get(ROTATION, place).version}"

    def node_version(self, name: str) -> str:
        """Moves with a node's machine and with what is declared about it."""
        place = self.find_node(name)
        return f"{self.uid_at(place)}.{self._declared.get(SCHEDULABLE, place).version}"

    # ── machines ────────────────────────────────────────────────────────────────────────────────────────────

    def machine(self, node: str) -> str:
        """The uid of a node's machine: its process, dead or alive. Raises Unavailable if it has none."""
        try:
            return _machine(self._table.get(node))
        except NotFound as error:
            raise Unavailable(f"{node} has no process that could be replaced") from error

    def revive(self, node: str) -> str:
        """Start a node's process if it is dead; returns the machine's uid. Raises Unavailable."""
        return _machine(self._table.respawn(node))

    async def replace(self, node: str) -> str:
        """End a node's process and start another; it is not ready until it answers. Raises Unavailable."""
        seen = self.nodes[node]
        seen.uid = await asyncio.to_thread(self._swap, node)
        seen.misses = _MISSES
        return seen.uid

    def _swap(self, node: str) -> str:
        self._table.signal(node, signal.SIGKILL)
        deadline = self._clock.monotonic() + _GONE_WITHIN
        while self._table.is_alive(self._table.get(node)):
            if self._clock.monotonic() > deadline:
                raise Unavailable(f"{node} outlives SIGKILL")
            self._clock.sleep(0.02)
        return self.revive(node)

    # ── restarts ────────────────────────────────────────────────────────────────────────────────────────────

    async def uid_of(self, replica: str) -> str:
        """A replica's uid, asked of its node now. Raises NotFound, Unavailable."""
        node, _ = self.find(replica)
        status = await self._status(node)
        found = next((report.uid for report in status.replicas if report.name == replica), None)
        if found is None:
            raise NotFound(f"nothing runs in {replica}")
        return found

    async def restart(self, replica: str, reason: str, *, reset_gpu: bool = False) -> str:
        """Restart a replica, with a reset of its GPU between or without, and return its new uid.

        Raises Unavailable if the node was not reached (nothing happened), Ambiguous if it was
        reached and did not answer.
        """
        node, _ = self.find(replica)
        timeout = aiohttp.ClientTimeout(total=_RESTART_TIMEOUT)
        url = f"http://node/replicas/{replica}/restart"
        try:
            body = {"reason": reason, "resetGpu": reset_gpu}
            async with node.session.post(url, json=body, timeout=timeout) as response:
                response.raise_for_status()
                answer = await response.json()
        except aiohttp.ClientConnectorError as error:
            raise Unavailable(f"{node.config.node} cannot be reached: {error}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Ambiguous(
                f"{node.config.node} did not say whether {replica} restarts: {error!r}"
            ) from error
        return str(answer["uid"])

    # ── slots ───────────────────────────────────────────────────────────────────────────────────────────────

    def wanted(self, zone: str) -> int:
        """How many replicas a zone shall have."""
        return int(self._declared.scale(self._layout, zone).value)

    def shown(self, node: NodeSeen) -> list[ReplicaSeen]:
        """A node's replicas: those that shall run, there or not yet, and those that are about to end."""
        wanted = self._declared.wanted(self._layout, node.config.zone)
        return [seen for name, seen in node.replicas.items() if name in wanted or seen.reported]

    def leaving(self, zone: str) -> list[ReplicaSeen]:
        """The replicas of a zone that run and shall not any more."""
        wanted = self._declared.wanted(self._layout, zone)
        return [
            seen
            for node in self.in_zone(zone)
            for name, seen in node.replicas.items()
            if seen.reported and name not in wanted
        ]

    async def fill(self, replica: str) -> None:
        """Let a replica load in an empty slot; again is no more than once. Raises Unavailable."""
        await self._ask(replica, "PUT")

    async def empty(self, replica: str) -> None:
        """End what runs in a slot; again is no more than once. Raises Unavailable."""
        await self._ask(replica, "DELETE")

    async def _ask(self, replica: str, method: str) -> None:
        node, _ = self.find(replica)
        timeout = aiohttp.ClientTimeout(total=_RESTART_TIMEOUT)
        try:
            url = f"http://node/replicas/{replica}"
            async with node.session.request(method, url, timeout=timeout) as response:
                response.raise_for_status()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(f"{node.config.node} did not answer about {replica}: {error!r}") from error

    # ── views ───────────────────────────────────────────────────────────────────────────────────────────────

    def in_zone(self, zone: str) -> Iterator[NodeSeen]:
        return (node for node in self.nodes.values() if node.config.zone == zone)

    def in_rotation(self, replica: str) -> bool:
        return bool(self._declared.get(ROTATION, self.find(replica)[1]).value)

    def schedulable(self, node: str) -> bool:
        return bool(self._declared.get(SCHEDULABLE, self.find_node(node)).value)

    def owner(self, zone: str) -> Owner:
        return Owner(kind="Deployment", name=f"{self._layout.settings.service}-{zone}")

    def topology(self) -> Topology:
        """The fleet as last polled."""
        settings = self._layout.settings
        zones = tuple(
            ZoneView(
                name=zone,
                labels={ZONE_LABEL: zone},
                nodes=tuple(self._node_view(node) for node in self.in_zone(zone)),
            )
            for zone in self._layout.zones
        )
        return Topology(
            service=settings.service, cluster=settings.cluster, zones=zones, observed_at=self._observed_at
        )

    def _node_view(self, node: NodeSeen) -> NodeView:
        config = node.config
        return NodeView(
            name=config.node,
            uid=node.uid,
            version=self.node_version(config.node),
            ready=node.ready,
            schedulable=self.schedulable(config.node),
            labels={
                ZONE_LABEL: config.zone,
                "kubernetes.io/hostname": config.node,
                "nvidia.com/gpu.product": GPU_MODEL.replace(" ", "-"),
            },
            gpus=tuple(
                GpuView(uuid=replica.gpu_uuid, index=index, model=GPU_MODEL)
                for index, replica in enumerate(config.slots)
            ),
            replicas=tuple(self._replica_view(node, replica) for replica in self.shown(node)),
        )

    def _replica_view(self, node: NodeSeen, replica: ReplicaSeen) -> ReplicaView:
        return ReplicaView(
            name=replica.config.name,
            uid=replica.uid,
            version=self.replica_version(replica.config.name),
            ready=node.is_ready(replica),
            state=replica.state if node.ready else "unknown",
            in_rotation=self.in_rotation(replica.config.name),
            requests=replica.requests if node.ready else None,
            slots=node.config.engine.max_num_seqs,
            address=self._layout.url(replica.config.port),
            owner=self.owner(node.config.zone),
            labels={"app": self._layout.settings.service, ZONE_LABEL: node.config.zone},
        )


def _machine(record: ProcessRecord) -> str:
    """A machine's uid: another one for each process."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{record.name}/{record.pid}/{record.start_time}"))
