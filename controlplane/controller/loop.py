"""Time and leadership: who ticks, when, and what happens when something fails.

One controller leads, by a lease on the database's clock; its writes are under the lease's
fence, so that a leader that was stopped and comes back writes nothing. Ticks are free of
drift, missed ones are skipped. The sweep has a thread of its own, so that a slow source
delays no run. No error ends the loop: it is logged, and what was left behind says so.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from controlplane.act.sweep import none_wait, sweep
from controlplane.controller import alerting
from controlplane.controller.inputs import DocumentCache
from controlplane.controller.tick import Asks, ServiceTick, Shared
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Fenced, FleetwardError
from controlplane.model.action import ActionRegistry
from controlplane.model.service import Service
from controlplane.observe import profile
from controlplane.observe.alertmanager import Alertmanager
from controlplane.observe.canary import Prober
from controlplane.observe.observer import COLLECT, TICK, Observer
from controlplane.observe.series import Source
from controlplane.platforms.port import Platform
from controlplane.store.database import Database
from controlplane.store.retention import prune
from controlplane.store.transaction import Transaction

log = structlog.get_logger(__name__)

LEASE = "controller"
LEASE_SECONDS = 15.0
SWEEP_SECONDS = 0.5
HOUSEKEEPING_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What a controller is made of. ``lag``: seconds that a tick looks behind now."""

    database: Database
    platform: Platform
    source: Source
    actions: ActionRegistry
    wake: Callable[[str], None]
    clock: Clock
    owner: str
    tick: float = TICK
    lag: float = 0.0
    profiles: Mapping[str, profile.Profile] = field(default_factory=profile.shipped)
    prober: Callable[[Service, Clock], Asks] = Prober
    alertmanager: Alertmanager | None = None
    waiting: Callable[[], int] = none_wait
    """Counts the messages at the carrier that no worker has taken yet."""


class Controller:
    """The loop. `tick` and `sweep` are its two movements; `run` drives them until told to stop."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._fence: int | None = None
        self._cache = DocumentCache()
        self._services: dict[str, tuple[str, ServiceTick]] = {}
        self._cleaned_at: datetime | None = None
        self._shared = Shared(
            parts.database,
            self._check_fence,
            parts.platform,
            parts.actions,
            parts.wake,
            parts.tick,
        )

    @property
    def leads(self) -> bool:
        """Whether this one held the lease when it last looked."""
        return self._fence is not None

    def run(self, stop: threading.Event) -> None:
        """Tick and sweep until ``stop`` is set; then give the lease up."""
        gc.set_threshold(*COLLECT)
        helpers = [threading.Thread(target=self._sweep_until, args=(stop,), name="sweep", daemon=True)]
        if self._parts.alertmanager is not None:
            helpers.append(
                threading.Thread(target=self._compare_until, args=(stop,), name="alerts", daemon=True)
            )
        for helper in helpers:
            helper.start()
        clock, due = self._parts.clock, self._parts.clock.monotonic()
        try:
            while not stop.is_set():
                began = clock.monotonic()
                self.tick()
                took = clock.monotonic() - began
                if took > self._parts.tick:
                    log.warning("slow tick", seconds=round(took, 2), tick=self._parts.tick)
                late = clock.monotonic() - due
                due += self._parts.tick * (1 + max(0, int(late // self._parts.tick)))
                stop.wait(max(0.0, due - clock.monotonic()))
        finally:
            stop.set()
            for helper in helpers:
                helper.join()
            self.close()

    def tick(self) -> None:
        """Look once at every service, if this one leads. Raises nothing that is an `Exception`."""
        try:
            if self._lead():
                self._tick_services()
                self._clean()
        except Fenced as error:
            log.warning("the lease went to another controller", error=str(error))
            self._step_down()
        except FleetwardError as error:
            log.warning("tick failed", error=str(error))
        except Exception:  # one broken tick must not end the loop
            log.exception("tick broke")

    def sweep(self) -> int:
        """Send what is due and unsent; returns how many runs."""
        return sweep(self._parts.database, self._parts.wake, self._parts.waiting)

    def compare_alerts(self) -> int:
        """Hold the alerts that stand here against Alertmanager's list; returns how many have ended."""
        if self._parts.alertmanager is None:
            return 0
        standing = self._parts.alertmanager.standing()
        with self._shared.transaction() as tx:
            return alerting.reconcile(tx, standing)

    def close(self) -> None:
        """Stop looking, and let a successor begin at once."""
        led = self.leads
        self._step_down()
        if led:
            try:
                with self._parts.database.transaction() as tx:
                    tx.leases.release(LEASE, self._parts.owner)
            except FleetwardError as error:
                log.warning("the lease could not be given up", error=str(error))

    def _lead(self) -> bool:
        """Take or renew the lease. A new fence is a new beginning: nothing seen before counts."""
        with self._parts.database.transaction() as tx:
            lease = tx.leases.acquire(LEASE, self._parts.owner, LEASE_SECONDS)
        if lease is None or lease.fence != self._fence:
            self._step_down()
        if lease is None:
            return False
        if self._fence is None:
            log.info("leading", owner=self._parts.owner, fence=lease.fence)
        self._fence = lease.fence
        return True

    def _step_down(self) -> None:
        for _, service in self._services.values():
            service.stop()
        self._services.clear()
        self._fence = None

    def _check_fence(self, tx: Transaction) -> None:
        if self._fence is None:
            msg = "this controller does not lead"
            raise Fenced(msg)
        tx.leases.check(LEASE, self._fence)

    def _tick_services(self) -> None:
        now = self._parts.clock.now()
        with self._parts.database.reading() as tx:
            documents = self._cache.read(tx)
        for name in set(self._services) - set(documents.services):
            self._services.pop(name)[1].stop()
        for name, service in documents.services.items():
            sha256 = documents.hashes[Service.KIND, name]
            try:
                self._service(service, sha256).look(documents, now)
            except Fenced:
                raise
            except FleetwardError as error:
                log.warning("service not looked at", service=name, error=str(error))
            except Exception:  # the other services are looked at all the same
                log.exception("service broke the tick", service=name)

    def _service(self, service: Service, sha256: str) -> ServiceTick:
        known = self._services.get(service.name)
        if known is not None and known[0] == sha256:
            return known[1]
        if known is not None:
            known[1].stop()
        parts = self._parts
        prober = parts.prober(service, parts.clock)
        observer = Observer(service, parts.source, parts.profiles, prober.book, parts.tick, parts.lag)
        fresh = ServiceTick(self._shared, service, observer, prober)
        fresh.start()
        self._services[service.name] = (sha256, fresh)
        return fresh

    def _clean(self) -> None:
        """Delete what is kept no longer."""
        now = self._parts.clock.now()
        if self._cleaned_at is None or (now - self._cleaned_at).total_seconds() >= HOUSEKEEPING_SECONDS:
            self._cleaned_at = now
            prune(self._shared.transaction)

    def _sweep_until(self, stop: threading.Event) -> None:
        while not stop.wait(SWEEP_SECONDS):
            if not self.leads:
                continue
            try:
                self.sweep()
            except FleetwardError as error:
                log.warning("sweep failed", error=str(error))
            except Exception:  # the next sweep may do better
                log.exception("sweep broke")

    def _compare_until(self, stop: threading.Event) -> None:
        while not stop.wait(alerting.EVERY):
            if not self.leads:
                continue
            try:
                self.compare_alerts()
            except FleetwardError as error:
                log.warning("alerts not compared", error=str(error))
            except Exception:  # the next look may do better
                log.exception("comparing alerts broke")
