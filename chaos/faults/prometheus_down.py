"""``observability.prometheus-down``: the observer is gone, and everything that it observes is well.

The control plane must call its sources lost and leave the fleet alone: no data is not bad data.
Killed, the process comes back with its data and a gap; stopped, connections to it hang.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from chaos.drivers.port import PROMETHEUS, Capability, Driver, Incarnation
from chaos.faults.base import Armed, Fault, Placed, Seen
from controlplane.kernel.errors import Conflict
from controlplane.model.action import Dimension
from controlplane.model.base import Level, Model


class PrometheusDownParameters(Model):
    """How it is gone."""

    how: Literal["kill", "hang"] = Field(
        default="kill", description="kill: connections are refused; hang: they are taken, and nobody answers"
    )


class PrometheusDown(Fault[PrometheusDownParameters]):
    """Kills or stops the fleet's Prometheus, and brings it back with its data.

    Seen: it does not answer. Gone: it is ready for queries. The kill and the stop hit the process
    that stood there when the fault was armed, and no other.
    """

    name: ClassVar[str] = "observability.prometheus-down"
    level: ClassVar[Level] = "service"
    parameters: ClassVar[type[Model]] = PrometheusDownParameters
    needs: ClassVar[frozenset[Capability]] = frozenset({"blind", "kill", "pause"})
    dimension: ClassVar[Dimension] = Dimension.NOTHING

    def arm(self, fault: Placed[PrometheusDownParameters], driver: Driver) -> Armed:
        incarnation = driver.incarnation(PROMETHEUS)
        if incarnation is None or not driver.is_observed():
            raise Conflict("Prometheus does not answer as it is: its loss would prove nothing")
        return Armed({"incarnation": incarnation.model_dump(mode="json")})

    def inject(self, fault: Placed[PrometheusDownParameters], driver: Driver) -> None:
        if fault.parameters.how == "kill":
            driver.kill(PROMETHEUS, self._armed(fault))
        else:
            driver.pause(PROMETHEUS, self._armed(fault), fault.expires_at)

    def verify(self, fault: Placed[PrometheusDownParameters], driver: Driver) -> Seen:
        if driver.is_observed():
            return Seen(yes=False, detail="Prometheus still answers")
        return Seen(yes=True, detail="Prometheus does not answer")

    def undo(self, fault: Placed[PrometheusDownParameters], driver: Driver) -> None:
        if "incarnation" in fault.undo:
            driver.resume(PROMETHEUS, self._armed(fault))
            driver.respawn(PROMETHEUS)

    def verify_clear(self, fault: Placed[PrometheusDownParameters], driver: Driver) -> Seen:
        if not driver.is_observed():
            return Seen(yes=False, detail="Prometheus does not answer yet")
        return Seen(yes=True, detail="Prometheus is ready for queries")

    @staticmethod
    def _armed(fault: Placed[PrometheusDownParameters]) -> Incarnation:
        return Incarnation.model_validate(fault.undo["incarnation"])
