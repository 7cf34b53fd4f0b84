"""Ends faults that outlive their drill: past their expiry, or left by a run that is over, gone or halted.

One of three parties that can take a fault back, beside the worker and the command line. It needs
the ledger and the fleet, nothing else: no API, no Redis, no worker. Any number may run at once.
A fault that is stuck is looked at again now and then, since targets do come back.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType

import structlog

from chaos.faults.life import FaultLife
from controlplane.kernel.errors import FleetwardError
from controlplane.model.records import FaultRecord
from controlplane.model.states import FaultState, is_final
from controlplane.store.database import Database
from controlplane.store.transaction import Transaction

log = structlog.get_logger(__name__)

EVERY = 1.0
"""Seconds between two looks at the ledger."""
STUCK_EVERY = 30.0
"""Seconds between two tries at a fault that is stuck."""


class Reaper:
    """Looks at the ledger and takes back what nobody is responsible for any more."""

    def __init__(self, database: Database, life: FaultLife) -> None:
        self._database = database
        self._life = life
        self._tried: dict[str, float] = {}

    def tick(self) -> list[FaultRecord]:
        """Take back, as far as can be done now, every fault that should not stand; return them."""
        with self._database.reading() as tx:
            due = [(fault, why) for fault in tx.faults.list(open=True) if (why := overdue(tx, fault))]
        return [after for fault, why in due if (after := self._revert(fault, why)) is not None]

    def run(self, stop: threading.Event) -> None:
        """Tick until told to stop; no failure ends it."""
        while not stop.is_set():
            try:
                self.tick()
            except Exception:
                log.exception("the ledger could not be looked at")
            stop.wait(EVERY)

    def _revert(self, fault: FaultRecord, why: str) -> FaultRecord | None:
        now = self._database.clock.monotonic()
        if fault.state is FaultState.STUCK:
            if now - self._tried.get(fault.id, -STUCK_EVERY) < STUCK_EVERY:
                return None
            self._tried[fault.id] = now
        try:
            after = self._life.revert(fault.id, why)
        except FleetwardError as error:
            log.warning("a fault cannot be taken back now", fault=fault.id, why=why, error=str(error))
            return None
        except Exception:  # one fault's trouble must not keep the others standing
            log.exception("a fault cannot be taken back now", fault=fault.id, why=why)
            return None
        if after.state is not fault.state:
            log.info("fault reverted", fault=fault.id, state=after.state.value, why=why, detail=after.detail)
        return after


def overdue(tx: Transaction, fault: FaultRecord) -> str:
    """Say why a fault should not stand any more; empty while its drill is responsible for it."""
    if tx.now >= fault.expires_at:
        return "it stands longer than its drill allowed"
    run = tx.runs.find(fault.run) if fault.run is not None else None
    if run is None:
        return "its drill's run does not exist"
    if is_final(run.state):
        return f"its drill's run is over: {run.state}"
    for halt in tx.halts.in_force():
        if halt.service in {None, fault.service}:
            return f"halted by {halt.by}: {halt.reason}"
    return ""


def serve(reaper: Reaper) -> None:
    """Run until SIGTERM or SIGINT."""
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        stop.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    reaper.run(stop)
