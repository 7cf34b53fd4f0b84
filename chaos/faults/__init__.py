"""The catalogue of faults: each declares what it takes, how it is seen, and how it is taken back."""

from typing import Any

from chaos.faults.base import Fault, FaultRegistry
from chaos.faults.engine_crash import EngineCrash, EngineCrashLoop
from chaos.faults.engine_hang import EngineHang
from chaos.faults.gpu_xid import GpuXid
from chaos.faults.gray import ReplicaGray, ZoneGray
from chaos.faults.load_surge import LoadSurge
from chaos.faults.node_hang import NodeHang
from chaos.faults.outage import NodeKill, ZoneOutage
from chaos.faults.prometheus_down import PrometheusDown

BUILT_IN: tuple[Fault[Any], ...] = (
    ZoneOutage(),
    ZoneGray(),
    NodeKill(),
    NodeHang(),
    ReplicaGray(),
    EngineHang(),
    EngineCrash(),
    EngineCrashLoop(),
    GpuXid(),
    LoadSurge(),
    PrometheusDown(),
)


def register(registry: FaultRegistry) -> None:
    """Add the built-in faults; the entry point ``fleetward.faults`` of this package."""
    for fault in BUILT_IN:
        registry.add(fault.name, fault)


def catalogue() -> FaultRegistry:
    """Return all faults that installed packages declare, ours among them."""
    registry: FaultRegistry = FaultRegistry("fault")
    registry.load_entry_points("fleetward.faults")
    return registry
