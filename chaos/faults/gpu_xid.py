"""``gpu.xid``: an error of a card, with both of its signals: the driver's code, and what the engine does.

Either alone proves half. DCGM's gauge shows the code and the kernel's log has its line; the engine
ends, hangs, cannot start, or goes on, by the class of the code. What a reset of the card or another
node cures is cured: the error befalls the card once, and is not repeated.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, field_validator

from chaos.drivers.port import Capability, Driver, NodeFault
from chaos.faults.base import Armed, Fault, Placed, Seen, status_of
from chaos.lab.node.xid import CATALOGUE, Effect
from controlplane.kernel.errors import Conflict
from controlplane.model.base import Level, Model
from controlplane.model.target import Target

LOOK = 0.8
"""Seconds for which an engine that should hang is watched with a question of ours in it."""
TIMEOUT = 4.0
"""Seconds for an answer that shows the engine well."""
CODE, HEAT = "DEV_XID_ERRORS", "DEV_GPU_TEMP"
"""Fields of the GPU exporter: the last code, and one that every card on the bus has."""


class GpuXidParameters(Model):
    """Which error."""

    xid: int = Field(description=f"the code, one of {', '.join(map(str, CATALOGUE))}")

    @field_validator("xid")
    @classmethod
    def _known(cls, xid: int) -> int:
        if xid not in CATALOGUE:
            raise ValueError(f"no XID {xid} is known here; known: {', '.join(map(str, CATALOGUE))}")
        return xid


class GpuXid(Fault[GpuXidParameters]):
    """Lets an XID error befall the card of a replica.

    Seen: DCGM's gauge shows the code, the series of a card that fell off the bus are gone, and the
    engine does what an engine does after such an error. Gone: the gauge does not show it, the node
    does not list the fault, and a question is answered.
    """

    name: ClassVar[str] = "gpu.xid"
    level: ClassVar[Level] = "replica"
    parameters: ClassVar[type[Model]] = GpuXidParameters
    needs: ClassVar[frozenset[Capability]] = frozenset({"xid"})

    def arm(self, fault: Placed[GpuXidParameters], driver: Driver) -> Armed:
        replicas = {}
        for target in fault.targets:
            replica = status_of(target, driver)
            if replica.state != "ready":
                raise Conflict(f"{target} is {replica.state}: what an error does to it could not be seen")
            if driver.gpu_fields(target).get(CODE) == fault.parameters.xid:
                raise Conflict(f"the card of {target} shows XID {fault.parameters.xid} already")
            replicas[str(target)] = {"uid": replica.uid, "restarts": replica.restarts}
        return Armed({"replicas": replicas}, uids=tuple(str(one["uid"]) for one in replicas.values()))

    def inject(self, fault: Placed[GpuXidParameters], driver: Driver) -> None:
        for target, _, _ in self._armed(fault):
            body = NodeFault(
                kind="xid",
                replicas=(target.name,),
                code=fault.parameters.xid,
                expires_at=fault.expires_at,
            )
            driver.put_fault(str(target.node), fault.id, body)

    def verify(self, fault: Placed[GpuXidParameters], driver: Driver) -> Seen:
        xid = fault.parameters.xid
        effect, said = CATALOGUE[xid].effect, []
        for target, uid, restarts in self._armed(fault):
            fields = driver.gpu_fields(target)
            if fields.get(CODE) != xid:
                return Seen(yes=False, detail=f"the card of {target.name} does not show XID {xid}")
            if effect is Effect.LOST and HEAT in fields:
                return Seen(yes=False, detail=f"the card of {target.name} is still on the bus")
            done = _engine_did(effect, target, uid, restarts, driver)
            if not done.yes:
                return done
            said.append(done.detail)
        return Seen(yes=True, detail=f"the card shows XID {xid} and {'; '.join(said)}")

    def undo(self, fault: Placed[GpuXidParameters], driver: Driver) -> None:
        for target, _, _ in self._armed(fault):
            driver.delete_fault(str(target.node), fault.id)

    def verify_clear(self, fault: Placed[GpuXidParameters], driver: Driver) -> Seen:
        targets = [target for target, _, _ in self._armed(fault)]
        for target in targets:
            if driver.status(str(target.node)).carries(fault.id):
                return Seen(yes=False, detail=f"{target.node} still lists the fault")
            if driver.gpu_fields(target).get(CODE) == fault.parameters.xid:
                return Seen(yes=False, detail=f"the card of {target.name} still shows the code")
        for target, answer in zip(targets, driver.ask(targets, tokens=2, timeout=TIMEOUT), strict=True):
            if not answer.ok:
                return Seen(yes=False, detail=f"no answer yet from {target.name}: {answer.detail}")
        return Seen(yes=True, detail="the code is gone, and a question is answered")

    @staticmethod
    def _armed(fault: Placed[GpuXidParameters]) -> list[tuple[Target, str, int]]:
        return [
            (Target.parse(text), str(found["uid"]), int(found["restarts"]))
            for text, found in fault.undo.get("replicas", {}).items()
        ]


def _engine_did(effect: Effect, target: Target, uid: str, restarts: int, driver: Driver) -> Seen:
    """Look whether the engine does what it does after an error of this effect."""
    replica = status_of(target, driver)
    match effect:
        case Effect.NOTHING:
            well = replica.uid == uid and driver.is_live(target)
            return Seen(yes=well, detail="the engine goes on" if well else f"{target.name} does not go on")
        case Effect.HANGS:
            driver.ask([target], tokens=2, timeout=LOOK)
            after = status_of(target, driver)
            hangs = after.uid == uid and after.steps == replica.steps and after.running + after.waiting > 0
            return Seen(yes=hangs, detail="the engine hangs" if hangs else f"{target.name} makes steps")
        case _:
            ended = replica.state == "stopped" or replica.restarts > restarts
            return Seen(yes=ended, detail="the engine died" if ended else f"{target.name} still runs")
