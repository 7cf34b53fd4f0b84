"""``fleetward advise``: what is off and what can be done, or everything."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controlplane.cli.context import database
from controlplane.kernel.errors import NotFound
from controlplane.model.advice import INDICATORS, IndicatorsSnapshot
from tests.support.standing import AT, leave
from tests.unit.controlplane.cli.conftest import Result

Fleetward = Callable[..., Result]
pytestmark = pytest.mark.timeout(30)  # a whole command line, several times a test


def test_what_is_off_is_told_with_its_levers(fleetward: Fleetward) -> None:
    with database(None) as db:
        leave(db)
        snapshot = IndicatorsSnapshot(at=AT, evaluated_at=AT, values={"queue": 30.0, "queue_share": 0.8})
        body = snapshot.model_dump(mode="json", by_alias=True)
        with db.transaction() as tx:
            tx.snapshots.put(INDICATORS, body, service="chat", at=AT)
    told = fleetward("advise", "chat").text
    assert "queue is off: 30 requests; off when queue is above 8" in told
    assert "+ More replicas" in told
    assert "playbook scale-out (not in force here)" in told
    assert "kv_use is" not in told
    assert "Not measured: " in told
    assert "kv_use is unknown" in fleetward("advise", "chat", "--all").text
    found = fleetward("advise", "chat", "-o", "json").json()
    assert (found["service"], found["indicators"][0]["status"]) == ("chat", "off")


def test_nothing_is_made_up(fleetward: Fleetward) -> None:
    assert isinstance(fleetward("advise", "chat").error, NotFound)
    with database(None) as db:
        leave(db)
    told = fleetward("advise", "chat").text
    assert "No controller has looked at it yet" in told
    assert "off its target" not in told  # nothing measured is no all-clear
