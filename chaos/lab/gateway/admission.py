"""Writes to what the gateway lets in: requests/s per zone, and the tiers of clients that it refuses.

Both are part of Envoy's routes: an answer means that Envoy shows the routes that say so. It
decides nothing about whom it would be right to refuse.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from chaos.lab.gateway import envoy
from chaos.lab.gateway.declared import Declared, desired_weights
from chaos.lab.gateway.errors import StaleWrite
from chaos.lab.gateway.writelog import LIMIT, SHED, WriteLog
from chaos.lab.layout import Layout
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Ambiguous, NotFound, Unavailable
from controlplane.model.target import Target
from controlplane.model.topology import Admission, WriteRecord, WriteTag

CONFIRM_WITHIN = 4.0
"""Seconds until a change counts as ambiguous; callers wait 5 s."""

_CONFIRM_EVERY = 0.02


class AdmissionWriter:
    """One of the lab's writers; ``turn`` is the lock that all of them share."""

    def __init__(
        self, layout: Layout, log: WriteLog, admin: envoy.EnvoyAdmin, clock: Clock, turn: asyncio.Lock
    ) -> None:
        self._layout = layout
        self._log = log
        self._admin = admin
        self._clock = clock
        self._turn = turn
        self._declared = Declared(log)
        self._service = Target(layout.settings.service, layout.settings.cluster)

    def present(self) -> Admission:
        """What is declared."""
        return self._declared.admission()

    def recover(self, pending: WriteRecord | None) -> None:
        """Roll a change forward that an earlier process began; the routes follow from the log."""
        if pending is not None and pending.op in {LIMIT, SHED}:
            self._log.append(pending)

    async def set_limit(
        self, zone: str, limit: int | None, expected_version: str | None, by: WriteTag | None
    ) -> Admission:
        """Let at most ``limit`` requests/s into a zone, or any number; returns all that is in force.

        Raises NotFound, Fenced, VersionConflict, Unavailable (Envoy is down; nothing was done) or
        Ambiguous (it did not confirm in time).
        """
        if zone not in self._layout.zones:
            raise NotFound(f"no zone called {zone!r}")
        place = Target(self._service.service, self._service.cluster, zone)
        return await self._write(LIMIT, place, limit, expected_version, by)

    async def set_shed(
        self, tiers: Sequence[str], expected_version: str | None, by: WriteTag | None
    ) -> Admission:
        """Refuse exactly these tiers; returns all that is in force. Raises as `set_limit`."""
        return await self._write(SHED, self._service, sorted(set(tiers)), expected_version, by)

    async def _write(
        self, op: str, place: Target, value: Any, expected_version: str | None, by: WriteTag | None
    ) -> Admission:
        async with self._turn:
            known = self._log.admit(op, str(place), by)
            if known is not None:
                return await self._again(known)
            present = self.present()
            if expected_version not in (None, present.version):
                raise StaleWrite(
                    f"the admission is at version {present.version}, not {expected_version}",
                    present.model_dump(mode="json"),
                )
            before = self._declared.get(op, place).value
            if before == value:
                return present
            await self._admin.routes_version()
            record = self._log.draft(
                op, str(place), before=before, after=value, version=str(self._log.next_seq), by=by
            )
            wanted = _with(present, record)
            envoy.write_routes(self._layout, desired_weights(self._layout, self._log), wanted)
            confirmed = await self._confirmed(wanted)
            self._log.append(record if confirmed else record.model_copy(update={"outcome": "ambiguous"}))
            if not confirmed:
                raise _unconfirmed(wanted)
            return wanted

    async def _again(self, known: WriteRecord) -> Admission:
        """The first answer once more: what stood after that write. One in doubt is looked at again."""
        answer = self._declared.admission_at(known.seq)
        if known.outcome == "ambiguous" and answer == self.present() and not await self._confirmed(answer):
            raise _unconfirmed(answer)
        return answer

    async def _confirmed(self, wanted: Admission) -> bool:
        version = envoy.routes_version(desired_weights(self._layout, self._log), wanted)
        deadline = self._clock.monotonic() + CONFIRM_WITHIN
        while (left := deadline - self._clock.monotonic()) > 0:
            try:
                if await self._admin.routes_version(timeout=min(1.0, left)) == version:
                    return True
            except Unavailable:
                pass  # it may come back within the time
            await asyncio.sleep(_CONFIRM_EVERY)
        return False


def _with(present: Admission, record: WriteRecord) -> Admission:
    """What is in force once a record's change is."""
    if record.op == SHED:
        return present.model_copy(update={"version": record.version, "shed": tuple(record.after)})
    zone = Target.parse(record.target).name
    limits = {name: limit for name, limit in present.limits.items() if name != zone}
    if record.after is not None:
        limits[zone] = record.after
    return present.model_copy(update={"version": record.version, "limits": limits})


def _unconfirmed(admission: Admission) -> Ambiguous:
    return Ambiguous(
        f"Envoy did not show the routes with admission {admission.version} within {CONFIRM_WITHIN:.0f} s",
        hint="read the admission before trying again",
    )
