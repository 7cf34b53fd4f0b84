"""Folding: a parent is bad when at least two and at least half of its children are."""

from __future__ import annotations

from datetime import timedelta

from controlplane.decide.folding import fold, is_alone, parent_of, wider
from controlplane.model.signals import Verdict
from controlplane.model.states import IncidentState
from controlplane.model.target import Target
from tests.unit.controlplane.decide.fleet import AT, SERVICE, at, topology
from tests.unit.controlplane.decide.verdicts import incident, signal, verdict

TARGETS = topology().targets()


def folded(*bad: Target, level: str = "node", open_signals: tuple[str, ...] = ()) -> dict[Target, Verdict]:
    measured = [target for target in TARGETS if target.level == level]
    verdicts = [verdict(target, bad=target in bad, good=True) for target in measured]
    return {each.signal.target: each for each in fold(verdicts, TARGETS, open_signals)}


def test_two_nodes_of_a_zone_are_the_zone() -> None:
    found = folded(at("a/a1"), at("a/a2"))
    assert found[at("a")].bad is True
    assert found[at("a")].state.detail == "2 of 2 nodes are bad"


def test_one_node_of_a_zone_is_not() -> None:
    assert at("a") not in folded(at("a/a1"))


def test_two_replicas_are_their_node_and_half_of_their_zone() -> None:
    found = folded(at("a/a1/0"), at("a/a1/1"), level="replica")
    assert found[at("a/a1")].bad is True
    assert found[at("a")].bad is True


def test_replicas_of_different_zones_are_no_zone() -> None:
    found = folded(at("a/a1/0"), at("b/b1/0"), level="replica")
    assert {target.level for target in found} == {"replica"}


def test_zones_do_not_fold_into_the_service() -> None:
    found = folded(at("a"), at("b"), at("c"), level="zone")
    assert SERVICE not in found


def test_children_overrule_a_parent_that_measures_well() -> None:
    verdicts = [verdict(at("a"), good=True), verdict(at("a/a1"), bad=True), verdict(at("a/a2"), bad=True)]
    found = {each.signal.target: each for each in fold(verdicts, TARGETS)}
    assert (found[at("a")].bad, found[at("a")].state.good) == (True, False)


def test_signals_of_different_names_do_not_add_up() -> None:
    verdicts = [verdict(at("a/a1"), bad=True), verdict(at("a/a2"), bad=True, name="chat-success")]
    assert len(fold(verdicts, TARGETS)) == 2


def test_a_folded_parent_that_has_an_incident_can_heal() -> None:
    name = str(signal(at("a")))
    assert folded(open_signals=(name,))[at("a")].state.good is True
    assert at("a") not in folded()


def test_evidence_of_the_children_is_the_parents() -> None:
    engine, canary = frozenset({"engine"}), frozenset({"canary"})
    verdicts = [
        verdict(at("a/a1"), bad=True, accusers=engine),
        verdict(at("a/a2"), bad=True, accusers=canary),
    ]
    found = {each.signal.target: each for each in fold(verdicts, TARGETS)}
    assert found[at("a")].accusers == engine | canary


def test_the_widest_active_incident_of_the_same_signal_is_the_parent() -> None:
    child = incident(at("a/a1/0"))
    node, zone = incident(at("a/a1")), incident(at("a"), opened=AT + timedelta(seconds=4))
    assert parent_of(child, [child, node, zone]) == zone
    assert parent_of(child, [child, node]) == node
    assert parent_of(zone, [child, node, zone, incident(SERVICE)]) is None


def test_a_mitigated_incident_and_one_of_another_signal_are_no_parents() -> None:
    child = incident(at("a/a1/0"))
    other = [
        incident(at("a"), IncidentState.MITIGATED),
        incident(at("a"), name="chat-ttft"),
        incident(at("b")),
    ]
    assert parent_of(child, [child, *other]) is None


def test_wider_are_active_ones_of_any_signal_and_the_widest_comes_first() -> None:
    child = incident(at("a/a1/0"))
    node, zone = incident(at("a/a1"), name="chat-ttft"), incident(at("a"), name="chat-success")
    others = [incident(at("b")), incident(SERVICE), incident(at("a"), IncidentState.MITIGATED)]
    assert wider(child, [child, node, zone, *others]) == [zone, node]


def test_a_replica_is_alone_unless_its_zone_has_or_lately_had_the_same_trouble() -> None:
    child, now = incident(at("a/a1/0")), AT + timedelta(minutes=5)
    assert is_alone(child, [child], now)
    assert is_alone(child, [child, incident(at("a"), name="chat-ttft"), incident(at("b"))], now)
    assert is_alone(child, [child, incident(at("a"), IncidentState.RESOLVED)], now)
    for state in (IncidentState.FIRING, IncidentState.MITIGATED, IncidentState.UNKNOWN):
        assert not is_alone(child, [child, incident(at("a"), state)], now)
    lately, long_ago = (
        incident(at("a"), IncidentState.MITIGATED, calm_since=now - timedelta(seconds=ago))
        for ago in (29, 30)
    )
    assert not is_alone(child, [child, lately], now)
    assert is_alone(child, [child, long_ago], now)
