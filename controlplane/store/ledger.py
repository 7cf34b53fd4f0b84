"""What is out of service now, through whatever run, drill or person: the blast-radius budget's count.

A claim outlives its run. It is released by the step that gives the target back, or when the
platform shows it back in service (`reconcile`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import bindparam, select

from controlplane.model.action import Dimension
from controlplane.model.records import OutOfService
from controlplane.model.target import Target
from controlplane.store.tables import out_of_service
from controlplane.store.unit import Repository, Row

_LIST = select(out_of_service).order_by(out_of_service.c.since, out_of_service.c.target)
_CLAIM = select(out_of_service.c.since).where(
    *(out_of_service.c[name] == bindparam(name) for name in ("target", "dimension", "holder"))
)


class LedgerRepository(Repository):
    """``tx.ledger``."""

    def list(self, *, holder: str | None = None) -> list[OutOfService]:
        """List the claims, oldest first."""
        rows = self.unit.rows(_LIST, {})
        return [OutOfService.model_validate(row) for row in rows if holder in {None, row["holder"]}]

    def claim(self, target: Target | str, dimension: Dimension, holder: str, reason: str = "") -> None:
        """Say that ``holder`` takes the target out; claiming it twice changes nothing."""
        key = self._key(target, dimension, holder)
        if self.unit.row(_CLAIM, key) is None:
            self.unit.add(out_of_service, **key, since=self.now, reason=reason)

    def release(
        self,
        *,
        holder: str | None = None,
        target: Target | str | None = None,
        dimension: Dimension | None = None,
    ) -> int:
        """Release the claims that match all that is given (at least one), and return how many."""
        if holder is None and target is None:
            msg = "name a holder or a target: releasing everything is nobody's wish"
            raise ValueError(msg)
        given = {
            "holder": holder,
            "target": None if target is None else str(target),
            "dimension": None if dimension is None else dimension.value,
        }
        return self.unit.drop(
            out_of_service, {name: value for name, value in given.items() if value is not None}
        )

    def reconcile(
        self, seen_in_service: Collection[Target], *, keep: Iterable[str] = ()
    ) -> Sequence[OutOfService]:
        """Release the claims whose target the platform shows back in service, and return them.

        ``seen_in_service`` are targets that take traffic and are ready now. Holders in ``keep``
        (runs that are still active: they may have claimed what they are about to take out)
        are left alone.
        """
        kept = set(keep)
        gone = [
            row
            for row in self.list()
            if row.holder not in kept and Target.parse(row.target) in seen_in_service
        ]
        for row in gone:
            self.unit.drop(out_of_service, self._key(row.target, row.dimension, row.holder))
        return gone

    @staticmethod
    def _key(target: Target | str, dimension: Dimension, holder: str) -> Row:
        return {"target": str(target), "dimension": dimension.value, "holder": holder}
