"""``engine.hang``: one engine accepts requests, says 200 on /health, and never yields a token.

The hang lives in one incarnation: a restart is a cure, and the fault is never put on the
incarnation that follows.
"""

from __future__ import annotations

from typing import ClassVar

from chaos.drivers.port import Capability, Driver, NodeFault
from chaos.faults.base import Armed, Fault, Placed, Seen, status_of
from controlplane.kernel.errors import Conflict
from controlplane.model.base import Level, Model
from controlplane.model.target import Target

LOOK = 0.8
"""Seconds for which the engine is watched with a question of ours in it: 35 steps when all is well."""
TIMEOUT = 4.0
"""Seconds for an answer that shows the engine well again."""


class EngineHangParameters(Model):
    """None: it hangs."""


class EngineHang(Fault[EngineHangParameters]):
    """Stops an engine's steps while its health endpoint goes on saying 200.

    Seen: with work in the engine the steps' counter does not move, and /health says 200. Gone: the
    node no longer lists the fault, or another incarnation stands there, and a question is answered.
    """

    name: ClassVar[str] = "engine.hang"
    level: ClassVar[Level] = "replica"
    parameters: ClassVar[type[Model]] = EngineHangParameters
    needs: ClassVar[frozenset[Capability]] = frozenset({"hang"})

    def arm(self, fault: Placed[EngineHangParameters], driver: Driver) -> Armed:
        uids = {}
        for target in fault.targets:
            replica = status_of(target, driver)
            if replica.state != "ready":
                raise Conflict(f"{target} is {replica.state}: a hang now would prove nothing")
            uids[str(target)] = replica.uid
        return Armed({"uids": uids}, uids=tuple(uids.values()))

    def inject(self, fault: Placed[EngineHangParameters], driver: Driver) -> None:
        for target, uid in self._armed(fault):
            if status_of(target, driver).uid != uid:
                continue
            body = NodeFault(kind="hang", replicas=(target.name,), expires_at=fault.expires_at)
            driver.put_fault(str(target.node), fault.id, body)

    def verify(self, fault: Placed[EngineHangParameters], driver: Driver) -> Seen:
        for target, uid in self._armed(fault):
            before = status_of(target, driver)
            driver.ask([target], tokens=2, timeout=LOOK)
            after = status_of(target, driver)
            if after.uid != uid:
                return Seen(yes=False, detail=f"{target.name} was restarted")
            if after.steps != before.steps or not (after.running + after.waiting):
                return Seen(yes=False, detail=f"{target.name} still makes steps")
            if not driver.is_live(target):
                return Seen(yes=False, detail=f"{target.name} does not say it is well: a crash, not a hang")
        return Seen(yes=True, detail="there is work, no step is made, and /health says 200")

    def undo(self, fault: Placed[EngineHangParameters], driver: Driver) -> None:
        for target, _ in self._armed(fault):
            driver.delete_fault(str(target.node), fault.id)

    def verify_clear(self, fault: Placed[EngineHangParameters], driver: Driver) -> Seen:
        targets = [target for target, _ in self._armed(fault)]
        for target, uid in self._armed(fault):
            if driver.status(str(target.node)).carries(fault.id) and status_of(target, driver).uid == uid:
                return Seen(yes=False, detail=f"{target.node} still lists the fault")
        answers = driver.ask(targets, tokens=2, timeout=TIMEOUT)
        silent = [
            f"{target.name}: {answer.detail}"
            for target, answer in zip(targets, answers, strict=True)
            if not answer.ok
        ]
        if silent:
            return Seen(yes=False, detail=f"no answer yet from {'; '.join(silent)}")
        return Seen(yes=True, detail="not listed any more, and a question is answered")

    @staticmethod
    def _armed(fault: Placed[EngineHangParameters]) -> list[tuple[Target, str]]:
        return [(Target.parse(text), uid) for text, uid in fault.undo.get("uids", {}).items()]
