"""What is in service by the platform's word, and the ledger held against it."""

from __future__ import annotations

from dataclasses import replace

from controlplane.decide import service_state
from controlplane.model.action import Dimension
from controlplane.model.records import OutOfService
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.model.topology import Topology, Weights
from tests.unit.controlplane.decide.fleet import AT, SERVICE, ZONES, at, topology


def weights(**changes: int) -> Weights:
    shares = {**dict.fromkeys(ZONES, 100), **{f"zone-{letter}": weight for letter, weight in changes.items()}}
    return Weights(version="1", weights=shares)


def claim(target: Target, holder: str = "run-1") -> OutOfService:
    return OutOfService(target=str(target), dimension=Dimension.TRAFFIC, holder=holder, since=AT)


def service(standby: str | None = None) -> Service:
    zones = [{"name": zone, "role": "standby" if zone == standby else "active"} for zone in ZONES]
    body = {"kind": "Service", "metadata": {"name": "chat"}, "spec": {"model": "m", "zones": zones}}
    return Service.model_validate(body)


def test_traffic_follows_weight_and_readiness() -> None:
    found = service_state.takes_traffic(topology([at("b/b1")]), weights(a=0))
    assert (found[at("a")], found[at("a/a1/0")]) == (False, False)
    assert (found[at("b")], found[at("b/b1")], found[at("b/b2")]) == (True, False, True)
    assert found[SERVICE] is True


def test_without_weights_nobody_knows() -> None:
    assert set(service_state.takes_traffic(topology(), None).values()) == {None}


def test_a_zone_is_in_service_with_weight_and_half_of_its_replicas() -> None:
    assert at("a") not in service_state.in_service(topology(), weights(a=0))
    assert at("a") in service_state.in_service(topology([at("a/a1")]), weights())
    assert at("a") not in service_state.in_service(topology([at("a")]), weights())


def test_a_claim_is_released_when_its_target_is_back_and_its_holder_done() -> None:
    seen = service_state.in_service(topology(), weights(b=0))
    rows = [claim(at("a")), claim(at("b")), claim(at("c"), "fault-1")]
    assert service_state.to_release(rows, seen, {"fault-1"}) == [rows[0]]


def test_a_claimed_replica_that_the_fleet_has_no_more_is_gone_and_one_that_is_down_is_not() -> None:
    rows = [claim(at("a/a1/0")), claim(at("a/a1/2")), claim(at("b/b1"))]
    assert service_state.gone(rows, topology([at("a/a1")])) == {at("a/a1/2")}


def isolated(*places: Target) -> Topology:
    """The fleet with some replicas that are ready and out of rotation."""
    whole = topology()
    zones = []
    for zone in whole.zones:
        nodes = []
        for node in zone.nodes:
            spot = Target(whole.service, whole.cluster, zone.name, node.name)
            replicas = tuple(
                view.model_copy(update={"in_rotation": replace(spot, replica=view.name) not in places})
                for view in node.replicas
            )
            nodes.append(node.model_copy(update={"replicas": replicas}))
        zones.append(zone.model_copy(update={"nodes": tuple(nodes)}))
    return whole.model_copy(update={"zones": tuple(zones)})


def test_what_others_took_out_is_claimed_once_and_standby_is_no_loss() -> None:
    fleet = topology()
    assert service_state.to_claim([], service(), fleet, weights(a=0)) == [(at("a"), Dimension.TRAFFIC)]
    assert service_state.to_claim([claim(at("a"))], service(), fleet, weights(a=0)) == []
    assert service_state.to_claim([], service("zone-a"), fleet, weights(a=0)) == []


def test_a_replica_that_others_isolated_is_claimed_once_and_not_in_service() -> None:
    fleet = isolated(at("a/a1/0"))

    assert service_state.to_claim([], service(), fleet, weights()) == [(at("a/a1/0"), Dimension.CAPACITY)]
    assert service_state.to_claim([claim(at("a/a1"))], service(), fleet, weights()) == []
    assert service_state.to_claim([], service("zone-a"), fleet, weights()) == []
    seen = service_state.in_service(fleet, weights())
    assert at("a/a1/0") not in seen
    assert {at("a"), at("a/a1/1")} <= seen
    assert at("a/a1") not in seen
    assert service_state.takes_traffic(fleet, weights())[at("a/a1/0")] is False
