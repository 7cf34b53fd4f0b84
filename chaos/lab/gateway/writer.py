"""Writes of weights and restarts, one after the other, each fenced, versioned and logged.

An answer means the effect is in force: a change of weights is answered when Envoy shows the new
routes. What cannot be told in time is `Ambiguous`, is logged as such, and shows in the next read.
After a crash in the middle, `recover` rolls a change of weights forward and asks the node about a
restart. It decides nothing about whether a write is wise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from chaos.lab.gateway import declared, endpoints, envoy
from chaos.lab.gateway.admission import AdmissionWriter
from chaos.lab.gateway.declared import Declared, desired_weights
from chaos.lab.gateway.errors import StaleWrite
from chaos.lab.gateway.fleet import Fleet
from chaos.lab.gateway.parts import PartsWriter
from chaos.lab.gateway.scaling import ScaleWriter
from chaos.lab.gateway.writelog import RECYCLE, RESTART, WEIGHTS, WriteLog
from chaos.lab.layout import Layout
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Ambiguous, InvalidInput, Unavailable
from controlplane.model.target import Target
from controlplane.model.topology import Weights, WriteRecord, WriteTag

CONFIRM_WITHIN = 4.0
"""Seconds until a change of weights counts as ambiguous; callers wait 5 s."""

_CONFIRM_EVERY = 0.02  # seconds; Envoy takes a new file within milliseconds


def log_folder(layout: Layout) -> Path:
    """Where the write log is."""
    return layout.state_dir / "gateway"


def prepare(layout: Layout, clock: Clock) -> None:
    """Write Envoy's files for a fleet that starts anew: equal weights, as a logged effect if they were not.

    Envoy refuses to start without them. Raises OSError.
    """
    log = WriteLog(log_folder(layout), clock)
    pending = log.pending()
    if pending is not None:
        # Nothing of the earlier fleet is left, so a restart that was under way has no subject.
        if pending.op == WEIGHTS:
            log.append(pending)
        else:
            log.drop_intent()
    weights = desired_weights(layout, log)
    equal = dict.fromkeys(layout.zones, 100)
    if weights.weights != equal:
        service = Target(layout.settings.service, layout.settings.cluster)
        version = str(int(weights.version) + 1)
        log.append(
            log.draft(WEIGHTS, str(service), before=weights.weights, after=equal, version=version, by=None)
        )
        weights = Weights(version=version, weights=equal)
    declared.reset(log)
    envoy.write_bootstrap(layout)
    envoy.write_routes(layout, weights, Declared(log).admission())
    endpoints.write_all(layout, log)


class Writer:
    """Serialises writes to one lab."""

    def __init__(
        self, layout: Layout, log: WriteLog, fleet: Fleet, admin: envoy.EnvoyAdmin, clock: Clock
    ) -> None:
        self._layout = layout
        self._log = log
        self._fleet = fleet
        self._admin = admin
        self._clock = clock
        self._turn = asyncio.Lock()
        self.admission = AdmissionWriter(layout, log, admin, clock, self._turn)
        self.parts = PartsWriter(layout, log, fleet, admin, clock, self._turn)
        self.scaling = ScaleWriter(layout, log, fleet, clock, self._turn)

    async def recover(self) -> None:
        """Finish what an earlier process began, and make Envoy's file agree with the log."""
        pending = self._log.pending()
        if pending is not None and pending.op == WEIGHTS:
            self._log.append(pending)
        elif pending is not None and pending.op in {RESTART, RECYCLE}:
            await self._settle_restart(pending)
        self.admission.recover(pending)
        self.scaling.recover(pending)
        await self.parts.recover(pending)
        envoy.write_routes(
            self._layout, desired_weights(self._layout, self._log), Declared(self._log).admission()
        )

    async def set_weights(
        self, weights: Mapping[str, int], expected_version: str | None, by: WriteTag | None
    ) -> Weights:
        """Share new requests out anew; returns the weights in force. The same weights again are no effect.

        Raises InvalidInput (unknown or missing zones, all zero), Fenced, VersionConflict,
        Unavailable (Envoy is down; nothing was done) or Ambiguous (it did not confirm in time).
        """
        self._check(weights)
        service = str(Target(self._layout.settings.service, self._layout.settings.cluster))
        async with self._turn:
            known = self._log.admit(WEIGHTS, service, by)
            if known is not None:
                return await self._again_weights(known)
            current = desired_weights(self._layout, self._log)
            if expected_version not in (None, current.version):
                raise StaleWrite(
                    f"weights are at version {current.version}, not {expected_version}", current.model_dump()
                )
            if dict(weights) == current.weights:
                return current  # Envoy ignores routes that say the same, so a new version would never show.
            await self._admin.weights()
            wanted = Weights(version=str(int(current.version) + 1), weights=dict(weights))
            record = self._log.draft(
                WEIGHTS, service, before=current.weights, after=wanted.weights, version=wanted.version, by=by
            )
            envoy.write_routes(self._layout, wanted, Declared(self._log).admission())
            confirmed = await self._confirmed(wanted)
            self._log.append(record if confirmed else record.model_copy(update={"outcome": "ambiguous"}))
            if not confirmed:
                raise _unconfirmed(wanted)
            return wanted

    async def restart(
        self,
        replica: str,
        expected_uid: str | None,
        reason: str,
        by: WriteTag | None,
        *,
        op: str = RESTART,
    ) -> str:
        """Restart a replica (`RECYCLE`: with a reset of its GPU between), returning its new uid.

        Raises NotFound, Fenced, VersionConflict (it is another incarnation by now), Unavailable
        (its node is not reached; nothing was done) or Ambiguous (the node took it and went silent).
        """
        _, place = self._fleet.find(replica)
        async with self._turn:
            known = self._log.admit(op, str(place), by)
            if known is not None:
                return await self._again_restart(known, replica)
            current = await self._fleet.uid_of(replica)
            if expected_uid not in (None, current):
                raise StaleWrite(f"{replica} is incarnation {current}, not {expected_uid}", {"uid": current})
            record = self._log.draft(op, str(place), before=current, after=None, version=current, by=by)
            try:
                uid = await self._fleet.restart(replica, reason, reset_gpu=op == RECYCLE)
            except Unavailable:
                self._log.drop_intent()
                raise
            except Ambiguous:
                self._log.append(record.model_copy(update={"outcome": "ambiguous"}))
                raise
            self._log.append(record.model_copy(update={"after": uid, "version": uid}))
            return uid

    async def show_fence(self, by: WriteTag) -> int:
        """Keep back what an earlier owner of the run has still to write, and return the fence. Raises Fenced.

        It takes its turn: a write that is under way is done before.
        """
        async with self._turn:
            self._log.see(by)
            return by.fence

    async def _again_weights(self, known: WriteRecord) -> Weights:
        """The first answer once more; one that was ambiguous is looked at again, unless superseded."""
        answer = Weights(version=known.version, weights=known.after)
        in_doubt = known.outcome == "ambiguous" and known is self._log.last(WEIGHTS)
        if in_doubt and not await self._confirmed(answer):
            raise _unconfirmed(answer)
        return answer

    async def _again_restart(self, known: WriteRecord, replica: str) -> str:
        """The first answer once more; if the node never gave one, what the node says now."""
        if known.after is not None:
            return str(known.after)
        uid = await self._fleet.uid_of(replica)
        if uid == known.before:
            raise Ambiguous(f"{replica} is still incarnation {uid}: its node has not restarted it")
        return uid

    def _check(self, weights: Mapping[str, int]) -> None:
        zones = set(self._layout.zones)
        if set(weights) != zones:
            raise InvalidInput(f"weights must name exactly {', '.join(sorted(zones))}")
        if any(not 0 <= weight <= 100 for weight in weights.values()):
            raise InvalidInput("a weight is a whole number from 0 to 100")
        if not any(weights.values()):
            raise InvalidInput("all weights are 0: no zone would get a request")

    async def _confirmed(self, wanted: Weights) -> bool:
        deadline = self._clock.monotonic() + CONFIRM_WITHIN
        while (left := deadline - self._clock.monotonic()) > 0:
            try:
                if await self._admin.weights(timeout=min(1.0, left)) == wanted:
                    return True
            except Unavailable:
                pass  # it may come back within the time
            await asyncio.sleep(_CONFIRM_EVERY)
        return False

    async def _settle_restart(self, pending: WriteRecord) -> None:
        """A restart was under way when the process died: the node knows whether it took place."""
        replica = Target.parse(pending.target).name
        try:
            uid = await self._fleet.uid_of(replica)
        except Unavailable:
            self._log.append(pending.model_copy(update={"outcome": "ambiguous"}))
            return
        if uid == pending.before:
            self._log.drop_intent()
        else:
            self._log.append(pending.model_copy(update={"after": uid, "version": uid}))


def _unconfirmed(weights: Weights) -> Ambiguous:
    return Ambiguous(
        f"Envoy did not show version {weights.version} within {CONFIRM_WITHIN:.0f} s",
        hint="read the weights before trying again",
    )
