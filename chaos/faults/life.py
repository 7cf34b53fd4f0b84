"""The life of a fault, kept in a ledger so that anybody can end it, at any point, after any crash.

planned → armed → injecting → injected → verified → recovering → recovered → verifiedClear.
The undo, the expiry and the claim on what is out of service are committed before the target is
touched. Whoever holds a `FaultLife` may call any of its methods at any time: the worker that runs
the drill, the reaper, a person with the command line. Each looks at the row first, does one
idempotent thing to the target, and moves the row only from the state it acted on; so two at once
do no harm, and one that died in between is simply succeeded by the next.

An injection that is overtaken by a revert takes itself back; one that was stopped for good between
the two ends at the expiry that the target itself holds. Nothing here waits: `revert` goes as far as
it can now and is called again.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from chaos.drivers.port import Driver
from chaos.faults.base import Fault, FaultRegistry, Placed, Seen, read_parameters
from controlplane.kernel.errors import Conflict, FleetwardError, Refused
from controlplane.model.action import Dimension
from controlplane.model.records import FaultRecord
from controlplane.model.states import FaultState as F
from controlplane.model.target import Target
from controlplane.store.database import Database
from controlplane.store.transitions import move

STUCK_AFTER = 60.0
"""Seconds of vain attempts to take a fault back, after which an operator is asked to look."""

_STEPS = 6  # more moves than lie between any state and the end


def holder_of(fault_id: str) -> str:
    """Return the name under which a fault claims what it takes out of service."""
    return f"fault:{fault_id}"


class FaultLife:
    """Moves faults through their life: the ledger in ``database``, the fleet behind ``driver``."""

    def __init__(self, database: Database, faults: FaultRegistry, driver: Driver) -> None:
        self._database = database
        self._faults = faults
        self._driver = driver

    # ── towards the fault ───────────────────────────────────────────────────────────────────────

    def plan(self, record: FaultRecord) -> FaultRecord:
        """Write a fault into the ledger; one of the same id that is there already is returned as it is."""
        with self._database.transaction() as tx:
            return tx.faults.find(record.id) or tx.faults.add(record)

    def arm(self, fault_id: str) -> FaultRecord:
        """Commit what takes it back, and its claims. Raises `Refused` once it has expired."""
        fault = self._get(fault_id)
        if fault.state is not F.PLANNED:
            return fault
        self._refuse_expired(fault)
        kind, placed = self._placed(fault)
        armed = kind.arm(placed, self._driver)
        aim = {"zones": armed.zones, "replicas": armed.replicas, "uids": armed.uids}
        undo = {"fault": armed.undo, **{what: list(names) for what, names in aim.items()}}
        with self._database.transaction() as tx:
            fault = tx.faults.get(fault_id)
            if fault.state is not F.PLANNED:
                return fault
            for target in fault.targets if kind.dimension is not Dimension.NOTHING else ():
                tx.ledger.claim(target, kind.dimension, holder_of(fault.id), f"{fault.kind} ({fault.drill})")
            return move(tx, fault, F.ARMED, undo=undo)

    def inject(self, fault_id: str) -> FaultRecord:
        """Put it in force.

        Raises `Conflict` when somebody is taking it back, `Refused` once it has expired.
        """
        fault = self._moved(fault_id, {F.ARMED}, F.INJECTING)
        if fault.state in {F.INJECTED, F.VERIFIED}:
            return fault
        if fault.state is not F.INJECTING:
            raise Conflict(f"fault {fault.id} is {fault.state}: it is not injected")
        self._refuse_expired(fault)
        kind, placed = self._placed(fault)
        kind.inject(placed, self._driver)
        fault = self._moved(fault_id, {F.INJECTING}, F.INJECTED)
        if fault.state not in {F.INJECTED, F.VERIFIED}:
            kind.undo(placed, self._driver)
            raise Conflict(f"fault {fault.id} was taken back while it was injected")
        return fault

    def verify(self, fault_id: str) -> Seen:
        """Look from outside whether it has its effect; ask again until it says yes."""
        fault = self._get(fault_id)
        if fault.state is F.VERIFIED:
            return Seen(yes=True, detail=fault.detail)
        if fault.state is not F.INJECTED:
            raise Conflict(f"fault {fault.id} is {fault.state}: there is no effect to be seen")
        kind, placed = self._placed(fault)
        seen = kind.verify(placed, self._driver)
        if seen.yes:
            self._moved(fault_id, {F.INJECTED}, F.VERIFIED, seen.detail)
        return seen

    # ── away from it ────────────────────────────────────────────────────────────────────────────

    def revert(self, fault_id: str, reason: str) -> FaultRecord:
        """Take it back as far as can be done now; call again until it is ``verifiedClear``.

        Never raises for what the target does: that is in ``detail``, and after `STUCK_AFTER` in
        the state.
        """
        fault = self._get(fault_id)
        for _ in range(_STEPS):
            before = fault.state
            match before:
                case F.VERIFIED_CLEAR:
                    return fault
                case F.PLANNED:
                    fault = self._moved(fault_id, {F.PLANNED}, F.VERIFIED_CLEAR, reason)
                case F.RECOVERING:
                    fault = self._undo(fault)
                case F.RECOVERED:
                    fault = self._look(fault)
                case _:
                    undo = {**fault.undo, "recoveringSince": self._database.now().isoformat()}
                    fault = self._moved(fault_id, {before}, F.RECOVERING, reason, undo=undo)
            if fault.state is before or fault.state is F.STUCK:
                return fault
        return fault

    def _undo(self, fault: FaultRecord) -> FaultRecord:
        try:
            kind, placed = self._placed(fault)
            kind.undo(placed, self._driver)
        except FleetwardError as error:
            return self._not_yet(fault, str(error))
        return self._moved(fault.id, {F.RECOVERING}, F.RECOVERED)

    def _look(self, fault: FaultRecord) -> FaultRecord:
        try:
            kind, placed = self._placed(fault)
            seen = kind.verify_clear(placed, self._driver)
            if not seen.yes:
                kind.undo(placed, self._driver)  # once more: a late injection, a node that died again
        except FleetwardError as error:
            seen = Seen(yes=False, detail=str(error))
        if not seen.yes:
            return self._not_yet(fault, seen.detail)
        with self._database.transaction() as tx:
            present = tx.faults.get(fault.id)
            if present.state is F.RECOVERED:
                tx.ledger.release(holder=holder_of(fault.id))
                present = move(tx, present, F.VERIFIED_CLEAR, seen.detail)
            return present

    def _not_yet(self, fault: FaultRecord, detail: str) -> FaultRecord:
        now = self._database.now()
        since = datetime.fromisoformat(fault.undo.get("recoveringSince", now.isoformat()))
        if now - since >= timedelta(seconds=STUCK_AFTER):
            return self._moved(fault.id, {fault.state}, F.STUCK, detail)
        if detail != fault.detail:
            with self._database.transaction() as tx:
                tx.faults.update(fault.id, detail=detail)
        return self._get(fault.id)

    # ── rows ────────────────────────────────────────────────────────────────────────────────────

    def _get(self, fault_id: str) -> FaultRecord:
        with self._database.reading() as tx:
            return tx.faults.get(fault_id)

    def _moved(self, fault_id: str, expected: set[F], new: F, reason: str = "", **values: Any) -> FaultRecord:
        """Move the fault if it is in one of the expected states; return it as it is then, moved or not."""
        with self._database.transaction() as tx:
            fault = tx.faults.get(fault_id)
            return move(tx, fault, new, reason, **values) if fault.state in expected else fault

    def _placed(self, fault: FaultRecord) -> tuple[Fault[Any], Placed[Any]]:
        kind = self._faults.get(fault.kind)
        placed: Placed[Any] = Placed(
            id=fault.id,
            targets=tuple(Target.parse(target) for target in fault.targets),
            parameters=read_parameters(kind, fault.parameters),
            expires_at=fault.expires_at,
        )
        return kind, replace(placed, undo=fault.undo.get("fault", {}))

    def _refuse_expired(self, fault: FaultRecord) -> None:
        if self._database.now() >= fault.expires_at:
            raise Refused(f"fault {fault.id} has expired; it is not injected any more")
