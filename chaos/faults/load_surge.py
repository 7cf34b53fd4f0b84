"""``load.surge``: more users come than the fleet was made for, of one tier of clients or of all.

Nothing is broken: the service has to carry them, shed some, or fail all. The users of the plan come
as before, and the others beside them.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from chaos.drivers.port import Capability, Driver, Surge
from chaos.faults.base import Armed, Fault, Placed, Seen
from controlplane.kernel.errors import Conflict
from controlplane.model.action import Dimension
from controlplane.model.base import Level, Model, Name

ENOUGH = 10
"""Requests beside the plan after which the surge is seen."""


class LoadSurgeParameters(Model):
    """How many, and who."""

    factor: float = Field(2.0, gt=1, le=10, description="times the planned arrivals, those included")
    tier: Name | None = Field(
        default=None, description="tier of the clients that come beside the plan; without it by the usual mix"
    )


class LoadSurge(Fault[LoadSurgeParameters]):
    """Lets ``factor`` times as many requests arrive, in an open loop.

    Seen: the traffic lists the fault and has sent requests beside its plan. Gone: it does not list
    it. Those that were sent are served to their end.
    """

    name: ClassVar[str] = "load.surge"
    level: ClassVar[Level] = "service"
    parameters: ClassVar[type[Model]] = LoadSurgeParameters
    needs: ClassVar[frozenset[Capability]] = frozenset({"surge"})
    dimension: ClassVar[Dimension] = Dimension.NOTHING

    def arm(self, fault: Placed[LoadSurgeParameters], driver: Driver) -> Armed:
        if driver.surge(fault.id) is not None:
            raise Conflict(f"a surge called {fault.id} is under way already")
        return Armed({"armed": True})

    def inject(self, fault: Placed[LoadSurgeParameters], driver: Driver) -> None:
        surge = Surge(
            factor=fault.parameters.factor,
            tier=fault.parameters.tier,
            expires_at=fault.expires_at,
        )
        driver.put_surge(fault.id, surge)

    def verify(self, fault: Placed[LoadSurgeParameters], driver: Driver) -> Seen:
        surge = driver.surge(fault.id)
        if surge is None:
            return Seen(yes=False, detail="the traffic does not list the fault")
        return Seen(yes=surge.sent >= ENOUGH, detail=f"{surge.sent} requests were sent beside the plan")

    def undo(self, fault: Placed[LoadSurgeParameters], driver: Driver) -> None:
        driver.delete_surge(fault.id)

    def verify_clear(self, fault: Placed[LoadSurgeParameters], driver: Driver) -> Seen:
        if driver.surge(fault.id) is not None:
            return Seen(yes=False, detail="the traffic still lists the fault")
        return Seen(yes=True, detail="nobody comes beside the plan any more")
