"""Drills of a world in which anything may happen: a zone is really lost, and comes back, at any moment.

Real are the steps that put a fault in force and take it back, the fault's life, its ledger and the
reaper. Left out are the clients: nothing is measured of them, nothing is judged, no report is written.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from chaos.drills.library import shipped_drills
from chaos.drills.ports import DrillPorts
from chaos.drivers.memory import MemoryDriver
from chaos.drivers.port import Incarnation
from chaos.faults import register as register_faults
from chaos.faults.base import FaultRegistry
from chaos.faults.life import FaultLife
from chaos.reaper import Reaper
from controlplane.act.plan import RunPlan
from controlplane.act.start import StartRequest, Wake, start_run
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Unavailable
from controlplane.model.drill import Drill, Selector
from controlplane.model.records import FaultRecord, Run
from controlplane.model.target import Target
from controlplane.platforms.memory import MemoryPlatform
from controlplane.store.database import Database
from tests.support.rig import Fuse, around_effect

NAME = "zone-outage"
PLAN = RunPlan.model_validate(
    {
        "steps": [
            {"id": "inject-outage", "uses": "drill.inject", "with": {"fault": "outage"}, "timeout": "1m"},
            {"id": "hold", "uses": "wait"},
            {"id": "revert", "uses": "drill.revert", "timeout": "3m"},
        ]
    }
)
"""Of the steps that every drill has those that change something; they are called as those are."""


class LinkedDriver(MemoryDriver):
    """A driver whose nodes are those of a platform; its caller may die before and after what it does."""

    fuse: Fuse | None = None
    watch: Callable[[], None] | None = None
    """Called when a node is gone."""

    def __init__(self, clock: Clock, platform: MemoryPlatform, nodes: dict[str, tuple[str, ...]]) -> None:
        super().__init__(clock, nodes)
        self._platform = platform

    def kill(self, node: str, incarnation: Incarnation) -> bool:
        with around_effect(self.fuse):
            killed = super().kill(node, incarnation)
            if killed:
                self._platform.set_reachable(node, False)
                if self.watch is not None:
                    self.watch()
        return killed

    def respawn(self, node: str) -> None:
        with around_effect(self.fuse):
            if self.incarnation(node) is None:
                super().respawn(node)
                self._platform.set_reachable(node, True)


class NoEvidence:
    """Implements `chaos.drills.ports.Evidence`: nobody has counted anything."""

    def __getattr__(self, name: str) -> Any:
        def silent(*_: object, **__: object) -> Any:
            raise Unavailable("nobody has counted")

        return silent


class Drills:
    """The drills of one world, and the reaper that ends what they leave."""

    def __init__(
        self, database: Database, platform: MemoryPlatform, nodes: dict[str, tuple[str, ...]]
    ) -> None:
        self._database = database
        self._nodes = {node: Target("chat", "local", zone, node) for zone in nodes for node in nodes[zone]}
        self.driver = LinkedDriver(database.clock, platform, nodes)
        faults: FaultRegistry = FaultRegistry("fault")
        register_faults(faults)
        evidence: Any = NoEvidence()
        self.ports = DrillPorts(self.driver, evidence, faults, reports=Path("never-written"))
        self.reaper = Reaper(database, FaultLife(database, faults, self.driver))

    def lost(self) -> set[Target]:
        """Return the nodes that are killed now."""
        return {target for node, target in self._nodes.items() if self.driver.incarnation(node) is None}

    def standing(self) -> list[FaultRecord]:
        with self._database.reading() as tx:
            return tx.faults.list(open=True)

    def start(self, zone: str, pins: dict[str, str], wake: Wake) -> Run:
        """Start a drill that takes a zone out; raises `Refused` while there is another."""
        drill = outage_of(zone)
        with self._database.transaction() as tx:
            request = StartRequest(
                kind="drill",
                name=NAME,
                service="chat",
                plan=PLAN.model_copy(update={"limits": drill.spec.limits}),
                pins={**pins, "Drill": tx.documents.put(drill)},
                target="chat/local",
                started_by="ada",
                group="drill/chat",
                on_conflict="skip",
            )
            run = start_run(tx, request, wake)
            tx.runs.merge_result(run.id, verdict="not judged")  # so that nobody writes a report of it
        return run


@cache
def outage_of(zone: str) -> Drill:
    """Return the shipped drill of a zone's loss, for this zone."""
    drill = shipped_drills()[NAME]
    faults = tuple(
        fault.model_copy(update={"selector": Selector(zones=(zone,))}) for fault in drill.spec.faults
    )
    return drill.model_copy(update={"spec": drill.spec.model_copy(update={"faults": faults})})
