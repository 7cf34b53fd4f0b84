"""How many replicas a zone has: written as a number, and then brought about, as a Deployment's is.

An answer means that the number is declared, not that anything runs yet. What follows is brought about at
each look at the nodes, again and again, so that a node that was down, or was started anew from its
file, comes to what is declared. A replica that is too many gets no new request first, and is ended when
it has none left or after a grace; Envoy and Prometheus are told of what runs. It decides nothing about
how many would be wise.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable

from chaos.lab import prometheus
from chaos.lab.gateway import endpoints
from chaos.lab.gateway.declared import Declared
from chaos.lab.gateway.errors import StaleWrite
from chaos.lab.gateway.fleet import Fleet, ReplicaSeen
from chaos.lab.gateway.writelog import SCALE, WriteLog
from chaos.lab.layout import Layout
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import InvalidInput, NotFound, Unavailable
from controlplane.model.target import Target
from controlplane.model.topology import Scale, WriteRecord, WriteTag

GRACE = 30.0
"""Seconds that requests of a replica that is too many may take: a pod's grace of termination."""

_LOG = logging.getLogger(__name__)


class ScaleWriter:
    """One of the lab's writers; ``turn`` is the lock that all of them share."""

    def __init__(self, layout: Layout, log: WriteLog, fleet: Fleet, clock: Clock, turn: asyncio.Lock) -> None:
        self._layout = layout
        self._log = log
        self._fleet = fleet
        self._clock = clock
        self._turn = turn
        self._declared = Declared(log)
        self._since: dict[str, float] = {}
        self._told: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    def recover(self, pending: WriteRecord | None) -> None:
        """Roll a change forward that an earlier process began; the rest is brought about at the next look."""
        if pending is not None and pending.op == SCALE:
            self._log.append(pending)

    def present(self, zone: str) -> Scale:
        """What is declared of a zone, and how much of it is there. Raises NotFound."""
        self._place(zone)
        declared = self._declared.scale(self._layout, zone)
        ready = sum(
            node.is_ready(seen) for node in self._fleet.in_zone(zone) for seen in node.replicas.values()
        )
        return Scale(
            version=declared.version,
            replicas=int(declared.value),
            ready=ready,
            usual=self._layout.filled(zone),
            most=len(self._layout.slots_of(zone)),
        )

    async def set_scale(
        self, zone: str, replicas: int, expected_version: str | None, by: WriteTag | None
    ) -> Scale:
        """Let a zone have so many replicas. Raises NotFound, InvalidInput, Fenced, VersionConflict."""
        place = self._place(zone)
        async with self._turn:
            known = self._log.admit(SCALE, str(place), by)
            present = self.present(zone)
            if known is not None:
                return present.model_copy(update={"version": known.version, "replicas": int(known.after)})
            if not 1 <= replicas <= present.most:
                raise InvalidInput(f"{replicas} replicas of {zone} is not between 1 and {present.most}")
            if expected_version not in (None, present.version):
                raise StaleWrite(
                    f"{zone} is at version {present.version}, not {expected_version}",
                    present.model_dump(mode="json"),
                )
            if replicas != present.replicas:
                version = str(self._log.next_seq)
                self._log.append(
                    self._log.draft(
                        SCALE, str(place), before=present.replicas, after=replicas, version=version, by=by
                    )
                )
            return self.present(zone)

    async def keep(self) -> None:
        """Bring about what is declared, as far as it can be now; what cannot comes at the next look."""
        for zone in self._layout.zones:
            leaving = self._fleet.leaving(zone)
            await self._tell(zone, {seen.config.name for seen in leaving})
            for seen in leaving:
                if self._is_done(seen):
                    await _try(self._fleet.empty(seen.config.name))
            for name in sorted(self._missing(zone)):
                await _try(self._fleet.fill(name))
        gone = self._since.keys() - {
            seen.config.name for zone in self._layout.zones for seen in self._fleet.leaving(zone)
        }
        for name in gone:
            del self._since[name]

    def _place(self, zone: str) -> Target:
        if zone not in self._layout.zones:
            raise NotFound(f"no zone called {zone!r}")
        return Target(self._layout.settings.service, self._layout.settings.cluster, zone)

    def _missing(self, zone: str) -> set[str]:
        """Replicas that shall run, and that a node that answers does not have."""
        wanted = self._declared.wanted(self._layout, zone)
        return {
            name
            for node in self._fleet.in_zone(zone)
            if node.ready
            for name, seen in node.replicas.items()
            if name in wanted and not seen.reported
        }

    def _is_done(self, seen: ReplicaSeen) -> bool:
        """Tell whether a replica that is too many may end: its requests have, or the grace is over."""
        since = self._since.setdefault(seen.config.name, self._clock.monotonic())
        waited = self._clock.monotonic() - since
        return waited >= GRACE or (seen.requests == 0 and waited > 0)

    async def _tell(self, zone: str, leaving: set[str]) -> None:
        """Tell Envoy and Prometheus what runs in a zone, when that has changed."""
        now = (frozenset(self._declared.wanted(self._layout, zone)), frozenset(leaving))
        if self._told.get(zone) == now:
            return
        async with self._turn:  # whoever changes the rotation writes the same file
            version = f"{self._log.next_seq - 1}-{len(leaving)}"
            endpoints.write(self._layout, self._log, zone, version, leaving=leaving)
        self._told[zone] = now
        running = set[str]()
        for each in self._layout.zones:
            running |= self._declared.wanted(self._layout, each)
            running |= {seen.config.name for seen in self._fleet.leaving(each)}
        prometheus.write_targets(self._layout, running)


async def _try(work: Awaitable[None]) -> None:
    try:
        await work
    except Unavailable as error:
        _LOG.info("not yet: %s", error)
