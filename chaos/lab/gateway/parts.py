"""Writes to parts of the fleet: a replica's rotation, a node's cordon, the machine behind a node.

As with weights, an answer means that the effect is in force: rotation is answered when Envoy
shows the endpoint's new status. It decides nothing about whether a write is wise.
"""

from __future__ import annotations

import asyncio
from typing import Any

from chaos.lab.gateway import endpoints, envoy
from chaos.lab.gateway.declared import Declared
from chaos.lab.gateway.errors import StaleWrite
from chaos.lab.gateway.fleet import Fleet
from chaos.lab.gateway.writelog import REPLACE, ROTATION, SCHEDULABLE, WriteLog
from chaos.lab.layout import Layout
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Ambiguous, Unavailable
from controlplane.model.target import Target
from controlplane.model.topology import WriteRecord, WriteTag

CONFIRM_WITHIN = 4.0
"""Seconds until a change of rotation counts as ambiguous; callers wait 5 s."""

_CONFIRM_EVERY = 0.02


class PartsWriter:
    """One of the lab's writers; ``turn`` is the lock that all of them share."""

    def __init__(
        self,
        layout: Layout,
        log: WriteLog,
        fleet: Fleet,
        admin: envoy.EnvoyAdmin,
        clock: Clock,
        turn: asyncio.Lock,
    ) -> None:
        self._layout = layout
        self._log = log
        self._fleet = fleet
        self._admin = admin
        self._clock = clock
        self._turn = turn
        self._declared = Declared(log)

    async def recover(self, pending: WriteRecord | None) -> None:
        """Finish what an earlier process began, and make Envoy's endpoints agree with the log."""
        if pending is not None and pending.op in {ROTATION, SCHEDULABLE}:
            self._log.append(pending)
        elif pending is not None and pending.op == REPLACE:
            self._settle_replacement(pending)
        endpoints.write_all(self._layout, self._log)

    async def set_rotation(
        self,
        replica: str,
        in_rotation: bool,  # noqa: FBT001 - as the port has it
        expected_version: str | None,
        by: WriteTag | None,
    ) -> str:
        """Let a replica get new requests, or not; returns its new version.

        Raises NotFound, Fenced, VersionConflict, Unavailable (Envoy is down; nothing was done) or
        Ambiguous (it did not confirm in time).
        """
        _, place = self._fleet.find(replica)
        async with self._turn:
            known = self._log.admit(ROTATION, str(place), by)
            if known is not None:
                return await self._again(known, replica)
            present = self._fleet.replica_version(replica)
            _expect(present, expected_version, f"{place}")
            if self._declared.get(ROTATION, place).value == in_rotation:
                return present
            await self._admin.out_of_rotation()
            record = self._draft(ROTATION, place, not in_rotation, in_rotation, by)
            out = self._declared.out_of_rotation() ^ {replica}
            zone = str(place.zone)
            leaving = {seen.config.name for seen in self._fleet.leaving(zone)}
            endpoints.write(self._layout, self._log, zone, str(record.seq), leaving=leaving, out=out)
            confirmed = await self._confirmed(replica, in_rotation)
            self._log.append(record if confirmed else record.model_copy(update={"outcome": "ambiguous"}))
            if not confirmed:
                raise _unconfirmed(replica)
            return self._fleet.replica_version(replica)

    async def set_schedulable(
        self,
        node: str,
        schedulable: bool,  # noqa: FBT001 - as the port has it
        expected_version: str | None,
        by: WriteTag | None,
    ) -> str:
        """Cordon a node, or end that; returns its new version. Raises as `set_rotation`; needs no Envoy."""
        place = self._fleet.find_node(node)
        async with self._turn:
            known = self._log.admit(SCHEDULABLE, str(place), by)
            if known is not None:
                return known.version
            present = self._fleet.node_version(node)
            _expect(present, expected_version, f"{place}")
            if self._declared.get(SCHEDULABLE, place).value != schedulable:
                self._log.append(self._draft(SCHEDULABLE, place, not schedulable, schedulable, by))
            return self._fleet.node_version(node)

    async def replace(self, node: str, expected_uid: str | None, by: WriteTag | None) -> str:
        """End a node's process whatever state it is in, start another in its place, and return its uid.

        Raises NotFound, Fenced, VersionConflict (it is another machine by now), Unavailable (it cannot
        be started: the next try may).
        """
        place = self._fleet.find_node(node)
        async with self._turn:
            known = self._log.admit(REPLACE, str(place), by)
            if known is not None:
                return str(known.after)
            current = self._fleet.machine(node)
            if expected_uid not in (None, current):
                raise StaleWrite(f"{node} is machine {current}, not {expected_uid}", {"uid": current})
            record = self._log.draft(REPLACE, str(place), before=current, after=None, version=current, by=by)
            uid = await self._fleet.replace(node)
            self._log.append(record.model_copy(update={"after": uid, "version": uid}))
            return uid

    def _draft(self, op: str, place: Target, before: Any, after: Any, by: WriteTag | None) -> WriteRecord:
        """Note an effect; its version is the one that the part has once the line is in the log."""
        uid = self._fleet.uid_at(place)
        version = f"{uid}.{self._log.next_seq}"
        return self._log.draft(op, str(place), before=before, after=after, version=version, by=by)

    async def _again(self, known: WriteRecord, replica: str) -> str:
        """The first answer once more; one that was ambiguous is looked at again, unless superseded."""
        in_doubt = known.outcome == "ambiguous" and known is self._log.newest(ROTATION, known.target)
        if in_doubt and not await self._confirmed(replica, bool(known.after)):
            raise _unconfirmed(replica)
        return known.version

    async def _confirmed(self, replica: str, in_rotation: bool) -> bool:  # noqa: FBT001 - as the port has it
        deadline = self._clock.monotonic() + CONFIRM_WITHIN
        while (left := deadline - self._clock.monotonic()) > 0:
            try:
                out = await self._admin.out_of_rotation(timeout=min(1.0, left))
                if (replica not in out) == in_rotation:
                    return True
            except Unavailable:
                pass  # it may come back within the time
            await asyncio.sleep(_CONFIRM_EVERY)
        return False

    def _settle_replacement(self, pending: WriteRecord) -> None:
        """A replacement was under way when the process died: a machine that is gone must come back."""
        node = Target.parse(pending.target).name
        uid = self._fleet.machine(node)
        if uid == pending.before and self._fleet.revive(node) == uid:
            self._log.drop_intent()
            return
        uid = self._fleet.machine(node)
        self._log.append(pending.model_copy(update={"after": uid, "version": uid}))


def _expect(present: str, expected: str | None, what: str) -> None:
    if expected not in (None, present):
        raise StaleWrite(f"{what} is at version {present}, not {expected}", {"version": present})


def _unconfirmed(replica: str) -> Ambiguous:
    return Ambiguous(
        f"Envoy did not show the new status of {replica} within {CONFIRM_WITHIN:.0f} s",
        hint="read the topology before trying again",
    )
