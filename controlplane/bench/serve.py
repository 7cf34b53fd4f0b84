"""The processes that are measured: the engine's worker, a peer whose tasks do nothing, and the controller.

Both workers receive through `controlplane.carrier`: the same pool, late acknowledgement and
prefetch. The platform is memory, so that what is measured is the engine; the controller's
metrics and canaries are never there.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Mapping
from datetime import datetime

from controlplane import carrier
from controlplane.act.approve import StoreApprovals
from controlplane.act.executor import Executor
from controlplane.actions import register
from controlplane.carrier import Sender
from controlplane.controller.loop import Controller, Parts
from controlplane.kernel.clock import Clock, SystemClock
from controlplane.kernel.errors import FleetwardError, Unavailable
from controlplane.kernel.registry import Registry
from controlplane.model.action import ActionRegistry
from controlplane.model.approval import Approvals
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.observe.probes import ProbeBook
from controlplane.observe.series import Row, Track
from controlplane.platforms.memory import MemoryPlatform
from controlplane.platforms.port import Platform
from controlplane.store.database import Database
from controlplane.worker import run_worker


def serve_engine(database_url: str, broker_url: str) -> int:
    """Execute runs until SIGTERM."""
    clock = SystemClock()

    def build() -> Executor:
        database = Database(database_url, clock)
        ports: dict[type, object] = {
            Platform: MemoryPlatform(clock),
            Approvals: StoreApprovals(database),
        }
        sender = Sender(broker_url)
        return Executor(database, actions(), ports, sender, clock, "bench", waiting=sender.waiting)

    return run_worker(broker_url, build, name="bench")


def serve_nothing(broker_url: str, count: str) -> int:
    """Receive until SIGTERM; print the seconds from a tenth of ``count`` messages to the last."""
    seen: list[float] = []

    def note(_: str) -> None:
        seen.append(time.perf_counter())
        if len(seen) == int(count):
            sys.stdout.write(f"{seen[-1] - seen[int(count) // 10]}\n")
            sys.stdout.flush()

    return carrier.serve(broker_url, note, name="peer")


def serve_controller(database_url: str, broker_url: str) -> int:
    """Lead until SIGTERM."""
    clock, stop, sender = SystemClock(), threading.Event(), Sender(broker_url)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    parts = Parts(
        database=Database(database_url, clock),
        platform=MemoryPlatform(clock),
        source=NoMetrics(),
        actions=actions(),
        wake=sender,
        waiting=sender.waiting,
        clock=clock,
        owner="bench",
        prober=NoCanaries,
    )
    Controller(parts).run(stop)
    return 0


class NoMetrics:
    """Implements `controlplane.observe.series.Source`: it never answers."""

    def poll(self, queries: Mapping[str, str], at: datetime) -> dict[str, list[Row] | FleetwardError]:
        del at
        return dict.fromkeys(queries, Unavailable("there are no metrics here"))

    def ranges(
        self, queries: Mapping[str, str], start: datetime, end: datetime, step: float
    ) -> dict[str, list[Track] | FleetwardError]:
        del start, end, step
        return dict.fromkeys(queries, Unavailable("there are no metrics here"))


class NoCanaries:
    """Implements `controlplane.controller.tick.Asks`: nobody is asked."""

    def __init__(self, service: Service, clock: Clock) -> None:
        del clock
        self.book = ProbeBook(service.spec)

    def start(self) -> None:
        """Ask nobody."""

    def stop(self) -> None:
        """Nobody was asked."""

    def aim(self, replicas: dict[Target, str]) -> None:
        """Ask nobody."""


def actions() -> ActionRegistry:
    """Return the actions that there are."""
    found: ActionRegistry = Registry("action")
    register(found)
    return found


ROLES = {"engine": serve_engine, "nothing": serve_nothing, "controller": serve_controller}

if __name__ == "__main__":
    role, *given = sys.argv[1:]
    sys.exit(ROLES[role](*given))
