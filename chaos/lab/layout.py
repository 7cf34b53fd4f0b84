"""The shape of the embedded fleet: its names, its ports, its folders, and the numbers it runs with.

Three zones of two nodes of two replicas, each replica one GPU, and on each node a standby slot in which
nothing runs, unless told otherwise. A layout is made once per start: it finds free ports and is kept in
``layout.json`` so that a later start can adopt what still runs. Names are slots (``replica-a1-0``); what
fills a slot has a uid.

It starts nothing and writes nothing but its own file.
"""

from __future__ import annotations

import hashlib
import random
import socket
import tempfile
from pathlib import Path
from typing import Annotated

from pydantic import Field

from chaos.lab.node.config import NodeConfig, ReplicaConfig
from chaos.lab.settings import EngineSettings
from controlplane.kernel.errors import NotFound, Unavailable
from controlplane.model.base import Model, Name

SOCKET_PATH_LIMIT = 100
"""Bytes. A unix socket's path holds 108 on Linux and 104 on macOS, the final zero included."""

PORTS = range(20_000, 32_000)
"""Below both systems' ephemeral ranges (Linux from 32768, macOS from 49152), so that no outgoing
connection takes the port of a node that is down and must come back to it."""


class LabSettings(Model):
    """What can be chosen about a lab. The defaults are the demonstration's (design, "The lab's numbers")."""

    seed: int = Field(default=1, description="Fixes arrivals, lengths and prompts; same seed, same traffic.")
    service: Name = Field(default="chat", description="Name of the one service.")
    cluster: Name = Field(default="local", description="Name of the one cluster.")
    model: str = Field(
        default="meta-llama/Llama-3.1-8B-Instruct", description="Model name the replicas serve."
    )
    zones: int = Field(default=3, ge=1, le=6, description="Zones, called zone-a, zone-b, ...")
    nodes_per_zone: int = Field(default=2, ge=1, le=8, description="Nodes (OS processes) in each zone.")
    replicas_per_node: int = Field(default=2, ge=1, le=8, description="Replicas on each node, one GPU each.")
    standby_per_node: int = Field(
        default=1,
        ge=0,
        le=8,
        description="Slots on each node in which nothing runs until the zone is scaled out, a GPU each. "
        "Source: half as much again as the fleet has; it costs neither CPU nor memory before.",
    )
    engine: EngineSettings = Field(
        default_factory=EngineSettings, description="The engine each replica models."
    )
    request_rate: float = Field(
        default=12.5,
        gt=0,
        description="Mean arrivals/s of the synthetic day. Source: with 100 output tokens each, 1,250 "
        "tokens/s are 55 ± 5 % of what three zones can do.",
    )
    output_tokens: float = Field(
        default=100.0, ge=16, le=200, description="Mean output tokens per request of the synthetic day."
    )
    tiers: dict[Name, Annotated[float, Field(gt=0)]] = Field(
        default={"interactive": 0.75, "batch": 0.25},
        description="Tiers of clients and their shares of all requests, relative to their sum.",
    )
    trace: Path | None = Field(default=None, description="Azure LLM trace CSV to replay.")
    rate_factor: float = Field(default=1.0, gt=0, description="Speeds a trace up: 2.0 is twice the arrivals.")
    scrape_interval: float = Field(
        default=2.0, ge=1, description="Seconds between scrapes. Source: one control loop's tick."
    )


class Layout(Model):
    """Where everything of one lab is. Ports are on 127.0.0.1."""

    state_dir: Path
    sockets: Path
    settings: LabSettings
    nodes: tuple[NodeConfig, ...]
    gateway_port: int
    admin_port: int
    platform_port: int
    prometheus_port: int
    traffic_port: int

    @property
    def traffic_socket(self) -> Path:
        """The unix socket by which a drill speaks with the users."""
        return self.sockets / "traffic.sock"

    @property
    def zones(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(node.zone for node in self.nodes))

    def nodes_of(self, zone: str) -> tuple[NodeConfig, ...]:
        return tuple(node for node in self.nodes if node.zone == zone)

    def slots_of(self, zone: str) -> list[tuple[NodeConfig, ReplicaConfig]]:
        """A zone's slots with their nodes, in the order in which they are filled: the nodes in turn."""
        nodes = self.nodes_of(zone)
        most = max((len(node.slots) for node in nodes), default=0)
        return [
            (node, node.slots[index]) for index in range(most) for node in nodes if index < len(node.slots)
        ]

    def filled(self, zone: str) -> int:
        """How many of a zone's slots are filled from the start."""
        return sum(len(node.replicas) for node in self.nodes_of(zone))

    def url(self, port: int) -> str:
        return f"http://127.0.0.1:{port}"

    def addresses(self) -> dict[str, str | int]:
        """The content of ``lab.json``."""
        return {
            "gateway": self.url(self.gateway_port),
            "platform": self.url(self.platform_port),
            "envoyAdmin": self.url(self.admin_port),
            "prometheus": self.url(self.prometheus_port),
            "traffic": self.url(self.traffic_port),
            "service": self.settings.service,
            "cluster": self.settings.cluster,
            "seed": self.settings.seed,
            "sockets": str(self.sockets),
        }

    def save(self) -> None:
        (self.state_dir / "layout.json").write_text(self.model_dump_json(by_alias=True, indent=1) + "\n")

    @classmethod
    def load(cls, state_dir: Path) -> Layout:
        """Read the layout of an earlier start; raises NotFound if there is none."""
        try:
            return cls.model_validate_json((state_dir.resolve() / "layout.json").read_text())
        except FileNotFoundError as error:
            raise NotFound(f"no lab was started under {state_dir}") from error


def plan(state_dir: Path, settings: LabSettings) -> Layout:
    """Lay out a fleet under ``state_dir`` on ports that are free now.

    Raises Unavailable if they do not suffice.
    """
    state_dir = state_dir.resolve()
    per_node = settings.replicas_per_node + settings.standby_per_node + 1
    ports = iter(free_ports(5 + settings.zones * settings.nodes_per_zone * per_node))
    gateway, admin, platform, prometheus, traffic = (next(ports) for _ in range(5))
    sockets = _socket_folder(state_dir)
    nodes = tuple(
        _node(settings, "abcdef"[zone], number + 1, sockets, tuple(next(ports) for _ in range(per_node)))
        for zone in range(settings.zones)
        for number in range(settings.nodes_per_zone)
    )
    return Layout(
        state_dir=state_dir, sockets=sockets, settings=settings, nodes=nodes, gateway_port=gateway,
        admin_port=admin, platform_port=platform, prometheus_port=prometheus, traffic_port=traffic,
    )  # fmt: skip


def free_ports(count: int) -> list[int]:
    """Find ``count`` loopback ports nobody listens on, all held at once while looking."""
    candidates = random.SystemRandom().sample(PORTS, len(PORTS))
    held: list[socket.socket] = []
    try:
        for port in candidates:
            if len(held) == count:
                break
            probe = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                probe.close()
            else:
                held.append(probe)
        if len(held) < count:
            raise Unavailable(f"{len(held)} of {count} ports are free between {PORTS.start} and {PORTS.stop}")
        return [probe.getsockname()[1] for probe in held]
    finally:
        for probe in held:
            probe.close()


def _node(
    settings: LabSettings, letter: str, number: int, sockets: Path, ports: tuple[int, ...]
) -> NodeConfig:
    name = f"node-{letter}{number}"
    slots = tuple(
        ReplicaConfig(name=f"replica-{letter}{number}-{index}", port=port, gpu_uuid=_gpu_uuid(name, index))
        for index, port in enumerate(ports[1:])
    )
    filled = settings.replicas_per_node
    return NodeConfig(
        service=settings.service, cluster=settings.cluster, zone=f"zone-{letter}", node=name,
        model=settings.model, seed=settings.seed, replicas=slots[:filled], standby=slots[filled:],
        dcgm_port=ports[0],
        socket=sockets / f"{name}.sock", engine=settings.engine,
    )  # fmt: skip


def _gpu_uuid(node: str, index: int) -> str:
    """A GPU keeps its UUID whatever runs on it, so it comes from the slot, written as NVIDIA writes it."""
    digest = hashlib.sha256(f"{node}/{index}".encode()).hexdigest()
    return f"GPU-{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"


def _socket_folder(state_dir: Path) -> Path:
    folder = state_dir / "sockets"
    longest = len(str(folder / "node-a10.sock").encode())
    return folder if longest <= SOCKET_PATH_LIMIT else Path(tempfile.mkdtemp(prefix="fleetward-"))
