"""Renews the lease of a run while an action works on it, so that a slow call is not taken for a dead worker.

One thread per executor, asleep unless a call lasts longer than a third of the lease. It
stops renewing a call that has lasted `MAX_SECONDS`: one that hangs for good must lose its run.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import structlog

from controlplane.kernel.errors import Fenced, Unavailable
from controlplane.store.database import Database
from controlplane.store.runs import LEASE_SECONDS

log = structlog.get_logger(__name__)

MAX_SECONDS = 60.0
"""How long one call may last. Calls of platforms end within 5 s; an action makes a few of them."""


@dataclass(eq=False, slots=True)
class _Held:
    """A call under way: the run, the fence it is held with, and how often its lease was renewed."""

    run: str
    fence: int
    renewals: int = 0


class LeaseKeeper:
    """Keeps the leases of the calls that are under way in this process."""

    def __init__(self, database: Database, lease_seconds: float = LEASE_SECONDS) -> None:
        self._database = database
        self._lease_seconds = lease_seconds
        self._every = lease_seconds / 3
        self._held: set[_Held] = set()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def keeping(self, run: str, fence: int) -> Iterator[None]:
        """Renew the run's lease for as long as the body lasts."""
        held = _Held(run, fence)
        with self._lock:
            self._held.add(held)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="lease-keeper", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._held.discard(held)

    def _work(self) -> None:
        pause = threading.Event()
        seen: set[_Held] = set()
        while not pause.wait(self._every):
            with self._lock:
                held = set(self._held)
            for each in held & seen:  # those that were under way at the last look too
                self._renew(each)
            seen = held

    def _renew(self, held: _Held) -> None:
        held.renewals += 1
        if held.renewals * self._every > MAX_SECONDS:
            log.error("a call does not end: its run is given up", run=held.run)
            with self._lock:
                self._held.discard(held)
            return
        try:
            with self._database.transaction() as tx:
                tx.runs.renew(held.run, held.fence, self._lease_seconds)
        except (Fenced, Unavailable) as error:
            log.warning("a lease could not be renewed", run=held.run, error=str(error))
