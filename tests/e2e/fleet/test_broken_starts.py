"""`fleetward up` that is stopped before it is up: nothing is left behind."""

from __future__ import annotations

import pytest

from tests.e2e.fleet.conftest import NewFleet
from tests.support.fleet_up import held, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize("moment", ["redis", "started", "targets scraped: 21"])
def test_ctrl_c_in_the_middle_of_a_start_leaves_nothing(moment: str, new_fleet: NewFleet) -> None:
    fleet = new_fleet()
    fleet.begin()
    if moment == "redis":
        wait_for("the first process", fleet.alive)
    else:
        fleet.wait_said(moment)
    ports = fleet.ports() | {fleet.redis_port()}
    assert (fleet.interrupt(), fleet.left(), held(ports)) == (0, [], []), fleet.said
    assert "console:" not in fleet.said


def test_up_stops_though_nobody_listens_any_more(new_fleet: NewFleet) -> None:
    """As in ``fleetward up 2>&1 | head -1``: words that nobody reads must not keep anything running."""
    fleet = new_fleet()
    fleet.begin_unheard()
    wait_for("a start that went on", lambda: "traffic" in fleet.alive(), 120)
    assert (fleet.interrupt(), fleet.left()) == (0, [])
