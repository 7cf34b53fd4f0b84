"""Node triggers: one machine that is not ready is called for, a zone's is not."""

from __future__ import annotations

from typing import Any

from controlplane.decide import look
from controlplane.decide.look import Look
from controlplane.decide.signals import Sight
from controlplane.model.signals import Verdict
from controlplane.model.target import Target
from tests.unit.controlplane.decide.fleet import AT, at, topology
from tests.unit.controlplane.decide.measured import Filled
from tests.unit.controlplane.decide.verdicts import playbook

NODES = [at(f"{zone}/{zone}{number}") for zone in "abc" for number in (1, 2)]


def measured(*down: Target, unknown: tuple[Target, ...] = (), fresh: bool = True) -> dict[Target, Verdict]:
    filled = Filled()
    known = [node for node in NODES if node not in unknown]
    filled.measures.gauges = {("node_ready", node): float(node not in down) for node in known}
    book = playbook(triggers=[{"type": "node", "for": "6s"}])
    sight = Sight(AT, {"cluster"} if fresh else set())
    found: Any = look.measured([book], Look(topology().targets(), filled.measures, sight))
    return {verdict.signal.target: verdict for verdict in found}


def test_one_node_that_is_not_ready_is_bad_after_its_time_and_the_cluster_says_so() -> None:
    found = measured(NODES[0])
    assert [target for target, each in found.items() if each.bad] == [NODES[0]]
    mine = found[NODES[0]]
    assert (str(mine.signal), mine.tiers, mine.hold, mine.state.value) == (
        f"node:not-ready@{NODES[0]}",
        ("not-ready",),
        6.0,
        0.0,
    )
    assert mine.accusers == {"cluster"}
    assert found[NODES[1]].state.good is True


def test_one_in_each_of_two_zones_are_two_machines() -> None:
    found = measured(NODES[0], NODES[2])
    assert [target for target, each in found.items() if each.bad] == [NODES[0], NODES[2]]


def test_half_of_a_zones_nodes_are_the_zones_trouble_and_no_machine_is_called_for() -> None:
    found = measured(NODES[0], NODES[1], NODES[2])
    assert [target for target, each in found.items() if each.bad] == [NODES[2]]
    assert (found[NODES[0]].state.good, found[NODES[0]].state.detail) == (
        False,
        "2 of 2 nodes of zone-a are not ready",
    )


def test_a_node_that_the_cluster_says_nothing_of_is_unknown() -> None:
    found = measured(unknown=(NODES[0],))
    assert (found[NODES[0]].bad, found[NODES[0]].state.good) == (False, None)


def test_a_source_that_is_lost_speaks_for_nobody() -> None:
    found = measured(NODES[0], fresh=False)
    assert {(each.bad, each.blind, each.state.good) for each in found.values()} == {(False, True, None)}
