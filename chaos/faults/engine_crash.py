"""``engine.crash`` and ``engine.crash-loop``: an engine dies, once or again after each start.

A dead engine takes its server with it, connections break off, metrics are gone, and the kubelet
starts the container again: at once for the first time, later after its back-off. With ``keepAlive``
the server stays and says 503, its metrics stand still, and only a restart brings the engine back.
A single crash lives in one incarnation; a loop lives in the slot, and a restart does not end it.
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

from pydantic import Field

from chaos.drivers.port import Capability, Driver, NodeFault
from chaos.faults.base import Armed, Fault, Placed, Seen, status_of
from controlplane.kernel.errors import Conflict
from controlplane.model.base import Duration, Level, Model
from controlplane.model.target import Target

TIMEOUT = 4.0
"""Seconds for an answer that shows the engine well again."""

P = TypeVar("P", bound=Model)


class _Crash(Fault[P]):
    """What one crash and many have in common: ``undo`` keeps uid and restarts of each replica."""

    level: ClassVar[Level] = "replica"
    needs: ClassVar[frozenset[Capability]] = frozenset({"crash"})

    def undo(self, fault: Placed[P], driver: Driver) -> None:
        for target, _, _ in self._armed(fault):
            driver.delete_fault(str(target.node), fault.id)

    def verify_clear(self, fault: Placed[P], driver: Driver) -> Seen:
        targets = [target for target, _, _ in self._armed(fault)]
        for target in targets:
            if driver.status(str(target.node)).carries(fault.id):
                return Seen(yes=False, detail=f"{target.node} still lists the fault")
            replica = status_of(target, driver)
            if replica.state != "ready":
                return Seen(yes=False, detail=f"{target.name} is {replica.state}")
        for target, answer in zip(targets, driver.ask(targets, tokens=2, timeout=TIMEOUT), strict=True):
            if not answer.ok:
                return Seen(yes=False, detail=f"no answer yet from {target.name}: {answer.detail}")
        return Seen(yes=True, detail="not listed any more, and a question is answered")

    @staticmethod
    def _look(fault: Placed[P], driver: Driver) -> dict[str, dict[str, object]]:
        """Return what is remembered of each replica; raises `Conflict` for one that is down."""
        found: dict[str, dict[str, object]] = {}
        for target in fault.targets:
            replica = status_of(target, driver)
            if replica.state != "ready":
                raise Conflict(f"{target} is {replica.state}: a crash now would prove nothing")
            found[str(target)] = {"uid": replica.uid, "restarts": replica.restarts}
        return found

    @staticmethod
    def _armed(fault: Placed[P]) -> list[tuple[Target, str, int]]:
        return [
            (Target.parse(text), str(found["uid"]), int(found["restarts"]))
            for text, found in fault.undo.get("replicas", {}).items()
        ]


class EngineCrashParameters(Model):
    """What becomes of the server."""

    keep_alive: bool = Field(
        default=False,
        description="whether the server outlives its engine and says 503, as with vLLM's "
        "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH=1; else the container ends and is started again",
    )


class EngineCrash(_Crash[EngineCrashParameters]):
    """Lets an engine die, as vLLM does when its EngineCore has died.

    Seen: the container has been started again since, or, kept alive, /health does not say 200 any
    more. Gone: the node does not list the fault, the replica is ready, and a question is answered.
    """

    name: ClassVar[str] = "engine.crash"
    parameters: ClassVar[type[Model]] = EngineCrashParameters

    def arm(self, fault: Placed[EngineCrashParameters], driver: Driver) -> Armed:
        replicas = self._look(fault, driver)
        return Armed({"replicas": replicas}, uids=tuple(str(one["uid"]) for one in replicas.values()))

    def inject(self, fault: Placed[EngineCrashParameters], driver: Driver) -> None:
        for target, uid, _ in self._armed(fault):
            if status_of(target, driver).uid != uid:
                continue
            body = NodeFault(
                kind="crash",
                replicas=(target.name,),
                keep_alive=fault.parameters.keep_alive,
                expires_at=fault.expires_at,
            )
            driver.put_fault(str(target.node), fault.id, body)

    def verify(self, fault: Placed[EngineCrashParameters], driver: Driver) -> Seen:
        for target, uid, restarts in self._armed(fault):
            replica = status_of(target, driver)
            if replica.uid == uid and driver.is_live(target):
                return Seen(yes=False, detail=f"{target.name} still says it is well")
            if replica.uid != uid and replica.restarts <= restarts:
                return Seen(yes=False, detail=f"{target.name} was replaced, it did not crash")
        kept = fault.parameters.keep_alive
        how = "the server is left without its engine" if kept else "the container ended"
        return Seen(yes=True, detail=f"the engine is dead and {how}")


class EngineCrashLoopParameters(Model):
    """How long it lasts each time."""

    after: Duration = Field(
        6.0, ge=1, le=600, description="from each start of the container to its next crash; loading included"
    )


class EngineCrashLoop(_Crash[EngineCrashLoopParameters]):
    """Lets an engine die now, and again some seconds after each start, until it is taken back.

    Kubernetes counts the restarts and waits longer before each (CrashLoopBackOff). Seen: the node
    lists the fault and the container has been started again. Gone: the node does not list it, the
    replica is ready without any back-off that the loop has left, and a question is answered.
    """

    name: ClassVar[str] = "engine.crash-loop"
    parameters: ClassVar[type[Model]] = EngineCrashLoopParameters

    def arm(self, fault: Placed[EngineCrashLoopParameters], driver: Driver) -> Armed:
        return Armed(
            {"replicas": self._look(fault, driver)}, replicas=tuple(target.name for target in fault.targets)
        )

    def inject(self, fault: Placed[EngineCrashLoopParameters], driver: Driver) -> None:
        for target, _, _ in self._armed(fault):
            body = NodeFault(
                kind="crash",
                replicas=(target.name,),
                every=fault.parameters.after,
                expires_at=fault.expires_at,
            )
            driver.put_fault(str(target.node), fault.id, body)

    def verify(self, fault: Placed[EngineCrashLoopParameters], driver: Driver) -> Seen:
        seen = []
        for target, _, restarts in self._armed(fault):
            if not driver.status(str(target.node)).carries(fault.id):
                return Seen(yes=False, detail=f"{target.node} does not list the fault")
            replica = status_of(target, driver)
            if replica.restarts <= restarts:
                return Seen(yes=False, detail=f"the container of {target.name} was not started again yet")
            seen.append(f"{target.name} was started again {replica.restarts - restarts} times")
        return Seen(yes=True, detail="; ".join(seen))
