"""A freeze holds until its time, its lifting, or the end of its incident, whichever comes first."""

from datetime import timedelta

from controlplane.kernel.clock import VirtualClock
from controlplane.model.records import Freeze, Incident
from controlplane.model.states import IncidentState
from controlplane.store.database import Database
from controlplane.store.freeze_port import StoreFreezes
from controlplane.store.transitions import move


def raised(clock: VirtualClock, **more: object) -> Freeze:
    fields = {
        "id": "freeze-1",
        "service": "chat",
        "reason": "spent",
        "by": "run r",
        "created_at": clock.now(),
    }
    return Freeze.model_validate({**fields, "expires_at": clock.now() + timedelta(hours=1), **more})


def in_force(database: Database, service: str = "chat") -> list[str]:
    with database.reading() as tx:
        return [freeze.id for freeze in tx.freezes.in_force(service)]


def test_it_ends_at_its_time_and_is_its_services_alone(database: Database, clock: VirtualClock) -> None:
    port = StoreFreezes(database)
    assert port.get("freeze-1") is None
    first = port.add(raised(clock))
    assert port.add(raised(clock, reason="again")) == first
    assert (in_force(database), in_force(database, "other")) == (["freeze-1"], [])
    clock.advance(3601)
    assert in_force(database) == []


def test_it_is_lifted_once(database: Database, clock: VirtualClock) -> None:
    port = StoreFreezes(database)
    port.add(raised(clock))
    lifted = port.lift("freeze-1")
    clock.advance(5)
    assert port.lift("freeze-1") == lifted
    assert in_force(database) == []


def test_it_ends_with_its_incident(database: Database, clock: VirtualClock) -> None:
    now = clock.now()
    incident = Incident(
        id="inc-1", signal="budget:s<0@chat/local", service="chat", target="chat/local",
        state=IncidentState.FIRING, title="spent", opened_at=now, changed_at=now,
    )  # fmt: skip
    with database.transaction() as tx:
        tx.incidents.add(incident)
        tx.freezes.add(raised(clock, incident="inc-1"))
    assert in_force(database) == ["freeze-1"]
    with database.transaction() as tx:
        move(tx, incident, IncidentState.RESOLVED, "it is back", now)
    assert in_force(database) == []
