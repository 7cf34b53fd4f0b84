"""``zone.gray``, ``replica.gray``: who answers everything, only too slowly: what health checks miss.

Seen from outside by a short question to each replica before, during and after, past the gateway:
the time per token, over that of replicas elsewhere at the same moment, is compared with what it was
when the fault was armed.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import ClassVar

from pydantic import Field

from chaos.drivers.port import Answer, Capability, Driver, NodeFault
from chaos.faults.base import Armed, Fault, Placed, Seen, nodes_of, replicas_of
from controlplane.kernel.errors import Unavailable
from controlplane.model.base import Level, Model
from controlplane.model.target import Target

TOKENS = 16
"""Length of the question's answer: a third of a second when all is well."""
TIMEOUT = 4.0
"""Seconds for one answer; a replica that needs longer is slow beyond doubt."""
_PEERS = 4  # at least: the median of one or two is a matter of chance


class GrayParameters(Model):
    """How slow."""

    factor: float = Field(3.0, ge=1.5, le=20, description="by how much each step of an engine takes longer")


class _Gray(Fault[GrayParameters]):
    """What a slow zone and a slow replica have in common."""

    parameters: ClassVar[type[Model]] = GrayParameters
    needs: ClassVar[frozenset[Capability]] = frozenset({"slow"})

    def arm(self, fault: Placed[GrayParameters], driver: Driver) -> Armed:
        before = _relative_pace(fault, driver)
        if before is None:
            raise Unavailable("no replica of the target answers: being slow could not be seen")
        replicas = [str(target) for target in replicas_of(fault.targets, driver)]
        found = {"nodes": nodes_of(fault.targets, driver), "replicas": replicas, "pace": before}
        zones = tuple(sorted(target.name for target in fault.targets if target.level == "zone"))
        names = tuple(sorted(target.name for target in fault.targets if target.level == "replica"))
        return Armed(found, zones=zones, replicas=names)

    def inject(self, fault: Placed[GrayParameters], driver: Driver) -> None:
        slow = [Target.parse(text) for text in fault.undo["replicas"]]
        for node in fault.undo["nodes"]:
            names = tuple(target.name for target in slow if target.node == node)
            body = NodeFault(
                kind="slow",
                replicas=names,
                factor=fault.parameters.factor,
                expires_at=fault.expires_at,
            )
            driver.put_fault(node, fault.id, body)

    def verify(self, fault: Placed[GrayParameters], driver: Driver) -> Seen:
        for node in fault.undo["nodes"]:
            if not driver.status(node).carries(fault.id):
                return Seen(yes=False, detail=f"{node} does not list the fault")
        growth = self._growth(fault, driver)
        wanted = 1 + (fault.parameters.factor - 1) / 2
        if growth is None:
            return Seen(yes=True, detail=f"listed, and no answer came within {TIMEOUT:g} s")
        return Seen(yes=growth >= wanted, detail=f"time per token is {growth:.2f} times what it was")

    def undo(self, fault: Placed[GrayParameters], driver: Driver) -> None:
        for node in fault.undo.get("nodes", ()):
            driver.delete_fault(node, fault.id)

    def verify_clear(self, fault: Placed[GrayParameters], driver: Driver) -> Seen:
        for node in fault.undo.get("nodes", ()):
            if driver.status(node).carries(fault.id):
                return Seen(yes=False, detail=f"{node} still lists the fault")
        growth = self._growth(fault, driver)
        allowed = 1 + (fault.parameters.factor - 1) / 4
        if growth is None:
            return Seen(yes=False, detail=f"no node lists it, and no answer comes within {TIMEOUT:g} s yet")
        return Seen(yes=growth <= allowed, detail=f"time per token is {growth:.2f} times what it was")

    @staticmethod
    def _growth(fault: Placed[GrayParameters], driver: Driver) -> float | None:
        now = _relative_pace(fault, driver)
        return None if now is None else now / float(fault.undo["pace"])


class ZoneGray(_Gray):
    """Makes every step of every engine in a zone take ``factor`` times as long.

    Nothing fails, health checks stay green. Seen: each node lists the fault and the measured time
    per token has grown by at least half of what was asked for. Gone: no node lists it and the time
    per token is within a quarter of that.
    """

    name: ClassVar[str] = "zone.gray"
    level: ClassVar[Level] = "zone"


class ReplicaGray(_Gray):
    """Makes every step of one engine take ``factor`` times as long, whichever incarnation runs there.

    A card that throttles, a neighbour on the host: a restart does not help. Seen and gone as for a
    slow zone, against replicas elsewhere.
    """

    name: ClassVar[str] = "replica.gray"
    level: ClassVar[Level] = "replica"


def _relative_pace(fault: Placed[GrayParameters], driver: Driver) -> float | None:
    """Return the target's time per token over its peers' at the same moment; None when it is silent.

    Medians over replicas. A machine that is busy for reasons of its own slows all of them down.
    """
    mine = replicas_of(fault.targets, driver)
    fleet = [one for one in driver.targets() if one.level == "replica" and one not in mine]
    peers = fleet[: max(_PEERS, len(mine))]
    answers = driver.ask([*mine, *peers], tokens=TOKENS, timeout=TIMEOUT)
    own, others = _median(answers[: len(mine)]), _median(answers[len(mine) :])
    if peers and others is None:
        raise Unavailable("no replica outside of the target answers: there is nothing to compare with")
    return None if own is None else own / (others or 1.0)


def _median(answers: Sequence[Answer]) -> float | None:
    measured = [answer.tpot for answer in answers if answer.ok and answer.tpot]
    return median(measured) if measured else None
