"""The worker process: it receives wake-ups and advances runs, and sweeps as a backup.

Any number may run. It is handed plain values and a way to build an executor; what that is
made of is decided in `controlplane.bootstrap`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import structlog

from controlplane import carrier
from controlplane.act.executor import Executor
from controlplane.kernel.errors import FleetwardError

log = structlog.get_logger(__name__)

SWEEP_SECONDS = 2.0
"""The controller sweeps more often; this goes on while there is none."""


def run_worker(
    broker_url: str,
    build: Callable[[], Executor],
    *,
    name: str,
    pool: str = "solo",
    concurrency: int = 1,
    sweep_seconds: float = SWEEP_SECONDS,
) -> int:
    """Work until SIGTERM, and return the exit code.

    ``build`` is called once in each process that works (after the fork, with ``prefork``) and
    once for the sweeper; each call makes its own database and carrier.
    """
    executors: dict[int, Executor] = {}

    def advance(run_id: str) -> None:
        pid = os.getpid()
        if pid not in executors:
            executors[pid] = build()
        executors[pid].advance(run_id)

    stop = threading.Event()
    sweeper = threading.Thread(target=_sweep, args=(build, stop, sweep_seconds), name="sweeper", daemon=True)
    sweeper.start()
    log.info("worker starts", worker=name, pool=pool, concurrency=concurrency)
    try:
        return carrier.serve(broker_url, advance, name=name, pool=pool, concurrency=concurrency)
    finally:
        stop.set()
        sweeper.join(sweep_seconds)
        log.info("worker ends", worker=name)


def _sweep(build: Callable[[], Executor], stop: threading.Event, every: float) -> None:
    executor = build()
    while not stop.wait(every):
        try:
            executor.sweep()
        except FleetwardError as error:
            log.warning("a sweep failed", error=str(error))
        except Exception:
            log.exception("a sweep broke")
