"""Named leases on the database's clock: who leads. Each new holder gets a higher fence."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import insert, select, update

from controlplane.kernel.errors import Fenced
from controlplane.model.records import Record
from controlplane.store.tables import leases
from controlplane.store.unit import Repository

LEASE_SECONDS = 15.0


class Lease(Record):
    """Who holds a name, until when, and the fence that later holders exceed."""

    name: str
    owner: str
    until: datetime
    fence: int


class LeaseRepository(Repository):
    """``tx.leases``."""

    def acquire(self, name: str, owner: str, seconds: float = LEASE_SECONDS) -> Lease | None:
        """Take or renew the lease; None while somebody else holds it.

        The fence rises with each change of holder, also when one's own lease had run out:
        in between, anybody could have held it.
        """
        row = self.unit.row(select(leases).where(leases.c.name == name).with_for_update())
        until = self.now + timedelta(seconds=seconds)
        if row is None:
            self.unit.write(insert(leases).values(name=name, owner=owner, until=until, fence=1))
            return Lease(name=name, owner=owner, until=until, fence=1)
        running = row["until"] > self.now
        if running and row["owner"] != owner:
            return None
        fence = row["fence"] if running else row["fence"] + 1
        change = update(leases).where(leases.c.name == name).values(owner=owner, until=until, fence=fence)
        self.unit.write(change)
        return Lease(name=name, owner=owner, until=until, fence=fence)

    def check(self, name: str, fence: int) -> None:
        """Raise `Fenced` unless this fence still holds the lease: the first line of a leader's writes."""
        held = select(leases.c.fence).where(leases.c.name == name, leases.c.until > self.now)
        if self.unit.scalar(held) != fence:
            msg = f"the lease `{name}` is no longer held with fence {fence}"
            raise Fenced(msg)

    def release(self, name: str, owner: str) -> None:
        """Give the lease up, so that a successor need not wait for its end."""
        mine = update(leases).where(leases.c.name == name, leases.c.owner == owner)
        self.unit.write(mine.values(until=self.now))

    def get(self, name: str) -> Lease | None:
        row = self.unit.row(select(leases).where(leases.c.name == name))
        return None if row is None else Lease.model_validate(row)
