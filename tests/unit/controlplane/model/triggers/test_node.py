"""Node triggers: one machine that is not ready is called for, a zone's is not."""

from __future__ import annotations

from typing import Any

from controlplane.decide import look
from controlplane.decide.look import Look
from controlplane.decide.signals import Sight
from controlplane.model.signals import Verdict
from controlplane.model.target import Signal, Target
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


def conditions(held: dict[str, set[Target]], *asked: str) -> dict[str, Verdict]:
    """Return the verdicts on nodes of which some conditions hold, by signal, for a trigger that asks."""
    filled = Filled()
    filled.measures.gauges = {
        (f"node_conditions/{name}", node): float(node in nodes)
        for name, nodes in held.items()
        for node in NODES
    }
    book = playbook(triggers=[{"type": "node", "for": "1m", "conditions": list(asked)}])
    found: Any = look.measured([book], Look(topology().targets(), filled.measures, Sight(AT, {"cluster"})))
    return {f"{each.signal.name} {each.signal.target.name}": each for each in found}


def test_a_condition_is_bad_while_it_holds_and_one_of_pressure_is_a_ticket() -> None:
    held = {"MemoryPressure": {NODES[0]}, "NetworkUnavailable": {NODES[2]}, "PIDPressure": set[Target]()}
    found = conditions(held, "MemoryPressure", "NetworkUnavailable", "PIDPressure")
    told = {name: (each.severity, each.state.value, each.hold) for name, each in found.items() if each.bad}
    assert told == {
        "memory-pressure node-a1": ("ticket", 1.0, 60.0),
        "network-unavailable node-b1": ("page", 1.0, 60.0),
    }
    assert found["pid-pressure node-a1"].state.good is True


def test_what_a_monitor_of_nodes_adds_is_asked_by_its_name() -> None:
    found = conditions({"GpuXidError": {NODES[1]}}, "GpuXidError", "KernelDeadlock")
    assert [name for name, each in found.items() if each.bad] == ["gpu-xid-error node-a2"]
    assert found["kernel-deadlock node-a2"].state.good is None


def test_a_condition_of_half_a_zone_calls_for_no_machine() -> None:
    found = conditions({"DiskPressure": {NODES[0], NODES[1]}}, "DiskPressure")
    mine = found["disk-pressure node-a1"]
    assert (mine.bad, mine.state.detail) == (False, "2 of 2 nodes of zone-a have DiskPressure")


def test_a_trigger_answers_for_what_it_asks() -> None:
    (trigger,) = playbook(triggers=[{"type": "node", "conditions": ["Ready", "PIDPressure"]}]).spec.triggers
    names = ["not-ready", "pid-pressure", "disk-pressure"]
    assert [trigger.answers(Signal("node", name, NODES[0])) for name in names] == [True, True, False]
    assert trigger.describe() == "node:not-ready, node:pid-pressure"


def test_a_node_that_the_cluster_says_nothing_of_is_unknown() -> None:
    found = measured(unknown=(NODES[0],))
    assert (found[NODES[0]].bad, found[NODES[0]].state.good) == (False, None)


def test_a_source_that_is_lost_speaks_for_nobody() -> None:
    found = measured(NODES[0], fresh=False)
    assert {(each.bad, each.blind, each.state.good) for each in found.values()} == {(False, True, None)}
