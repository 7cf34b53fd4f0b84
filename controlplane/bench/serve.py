"""The two workers that are compared: the engine's, and one whose tasks do nothing.

Both receive through `controlplane.carrier`: the same pool, late acknowledgement and
prefetch. The platform is memory, so that what is measured is the engine.
"""

from __future__ import annotations

import sys
import time

from controlplane import carrier
from controlplane.act.executor import Executor
from controlplane.actions import register
from controlplane.carrier import Sender
from controlplane.kernel.clock import SystemClock
from controlplane.kernel.registry import Registry
from controlplane.model.action import ActionRegistry
from controlplane.platforms.memory import MemoryPlatform
from controlplane.platforms.port import Platform
from controlplane.store.database import Database
from controlplane.worker import run_worker


def serve_engine(database_url: str, broker_url: str) -> int:
    """Execute runs until SIGTERM."""
    clock = SystemClock()

    def build() -> Executor:
        actions: ActionRegistry = Registry("action")
        register(actions)
        ports: dict[type, object] = {Platform: MemoryPlatform(clock)}
        database = Database(database_url, clock)
        return Executor(database, actions, ports, Sender(broker_url), clock, "bench")

    return run_worker(broker_url, build, name="bench")


def serve_nothing(broker_url: str, count: int) -> int:
    """Receive until SIGTERM; print the seconds from the first to the last of ``count`` messages."""
    seen: list[float] = []

    def note(_: str) -> None:
        seen.append(time.perf_counter())
        if len(seen) == count:
            sys.stdout.write(f"{seen[-1] - seen[0]}\n")
            sys.stdout.flush()

    return carrier.serve(broker_url, note, name="peer")


if __name__ == "__main__":
    role, *given = sys.argv[1:]
    sys.exit(serve_engine(*given) if role == "engine" else serve_nothing(given[0], int(given[1])))
