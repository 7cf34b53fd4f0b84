"""The catalogue of faults: each declares what it takes, how it is seen, and how it is taken back."""

from chaos.faults.base import FaultRegistry
from chaos.faults.engine_crash import EngineCrash, EngineCrashLoop
from chaos.faults.engine_hang import EngineHang
from chaos.faults.gray import ReplicaGray, ZoneGray
from chaos.faults.zone_outage import ZoneOutage


def register(registry: FaultRegistry) -> None:
    """Add the built-in faults; the entry point ``fleetward.faults`` of this package."""
    for fault in (ZoneOutage(), ZoneGray(), ReplicaGray(), EngineHang(), EngineCrash(), EngineCrashLoop()):
        registry.add(fault.name, fault)


def catalogue() -> FaultRegistry:
    """Return all faults that installed packages declare, ours among them."""
    registry: FaultRegistry = FaultRegistry("fault")
    registry.load_entry_points("fleetward.faults")
    return registry
