"""The worker process: it receives wake-ups and advances runs, and sweeps as a backup.

Any number may run. It is handed plain values and a way to build an executor; what that is
made of is decided in `controlplane.bootstrap`.
"""

from __future__ import annotations

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
    sweep_seconds: float = SWEEP_SECONDS,
) -> int:
    """Work until SIGTERM, and return the exit code. ``name`` is what leases and logs call this process."""
    executor = build()
    stop = threading.Event()
    sweeper = threading.Thread(
        target=_sweep, args=(executor, stop, sweep_seconds), name="sweeper", daemon=True
    )
    sweeper.start()
    log.info("worker starts", worker=name)
    try:
        return carrier.serve(broker_url, executor.advance, name=name)
    finally:
        stop.set()
        sweeper.join(sweep_seconds)
        log.info("worker ends", worker=name)


def _sweep(executor: Executor, stop: threading.Event, every: float) -> None:
    while not stop.wait(every):
        try:
            executor.sweep()
        except FleetwardError as error:
            log.warning("a sweep failed", error=str(error))
        except Exception:
            log.exception("a sweep broke")
