"""Envoy's documents: what the lab's promises about its gateway rest on."""

import json
from pathlib import Path
from typing import Any

import pytest

from chaos.lab.gateway import envoy
from chaos.lab.layout import LabSettings, Layout, plan
from controlplane.model.topology import Admission, Weights

OPEN = Admission(version="0")


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return plan(tmp_path, LabSettings())


def weighted(document: dict[str, Any]) -> list[dict[str, Any]]:
    route = document["resources"][0]["virtual_hosts"][0]["routes"][-1]["route"]
    clusters: list[dict[str, Any]] = route["weighted_clusters"]["clusters"]
    return clusters


def test_routes_carry_the_weights_and_their_version(layout: Layout) -> None:
    document = envoy.routes(
        layout, Weights(version="7", weights={"zone-a": 0, "zone-b": 100, "zone-c": 50}), OPEN
    )

    assert document["version_info"] == "7-0"
    assert {entry["name"]: entry["weight"] for entry in weighted(document)} == {
        "chat-zone-a": 0,
        "chat-zone-b": 100,
        "chat-zone-c": 50,
    }


def test_each_zones_answers_name_the_zone_overwriting_what_the_engine_says(layout: Layout) -> None:
    document = envoy.routes(layout, Weights(version="1", weights=dict.fromkeys(layout.zones, 100)), OPEN)
    headers = {entry["name"]: entry["response_headers_to_add"] for entry in weighted(document)}

    assert headers["chat-zone-b"] == [
        {
            "header": {"key": "x-fleetward-zone", "value": "zone-b"},
            "append_action": "OVERWRITE_IF_EXISTS_OR_ADD",
        }
    ]


def hosts(document: dict[str, Any]) -> dict[int, str]:
    """Ports of an EDS response's endpoints, with what is said of each."""
    (assignment,) = document["resources"]
    return {
        entry["endpoint"]["address"]["socket_address"]["port_value"]: entry["health_status"]
        for entry in assignment["endpoints"][0]["lb_endpoints"]
    }


def usual(layout: Layout, zone: str) -> set[str]:
    return {replica.name for node in layout.nodes_of(zone) for replica in node.replicas}


def test_a_standby_replica_is_an_endpoint_only_when_it_is_listed(layout: Layout) -> None:
    standby = layout.nodes_of("zone-a")[0].standby[0]
    listed = usual(layout, "zone-a") | {standby.name}
    assert standby.port not in hosts(envoy.endpoints(layout, "zone-a", (), "1", usual(layout, "zone-a")))
    assert hosts(envoy.endpoints(layout, "zone-a", (), "2", listed))[standby.port] == "UNKNOWN"


def test_every_replica_is_an_endpoint_of_its_zones_cluster(layout: Layout) -> None:
    clusters = envoy.bootstrap(layout)["static_resources"]["clusters"]
    documents = {zone: envoy.endpoints(layout, zone, (), "1", usual(layout, zone)) for zone in layout.zones}
    ports = {
        document["resources"][0]["cluster_name"]: list(hosts(document)) for document in documents.values()
    }

    assert [cluster["name"] for cluster in clusters] == list(ports)
    assert ports == {
        f"chat-{zone}": [replica.port for node in layout.nodes_of(zone) for replica in node.replicas]
        for zone in layout.zones
    }


def test_a_replica_out_of_rotation_stays_listed_and_gets_no_new_request(layout: Layout) -> None:
    first, *others = (replica for node in layout.nodes_of("zone-a") for replica in node.replicas)

    said = hosts(envoy.endpoints(layout, "zone-a", {first.name}, "7", usual(layout, "zone-a")))

    assert said == {first.port: "DRAINING"} | dict.fromkeys((each.port for each in others), "UNKNOWN")


def test_each_cluster_watches_the_file_with_its_own_endpoints(layout: Layout) -> None:
    clusters = envoy.bootstrap(layout)["static_resources"]["clusters"]
    watched = [
        cluster["eds_cluster_config"]["eds_config"]["path_config_source"]["path"] for cluster in clusters
    ]

    assert watched == [str(envoy.endpoints_path(layout, zone)) for zone in layout.zones]
    assert len({path.parent for path in map(Path, watched)}) == len(layout.zones)


def test_everything_listens_on_loopback_only(layout: Layout) -> None:
    text = json.dumps(envoy.bootstrap(layout))

    assert text.count('"address": "127.0.0.1"') == text.count('"port_value"')


def test_routes_are_replaced_by_a_rename_and_leave_no_draft_in_the_watched_folder(layout: Layout) -> None:
    for version in ("1", "2"):
        envoy.write_routes(layout, Weights(version=version, weights=dict.fromkeys(layout.zones, 100)), OPEN)

    folder = envoy.routes_path(layout).parent
    assert [path.name for path in folder.iterdir()] == ["routes.json"]
    assert json.loads(envoy.routes_path(layout).read_text())["version_info"] == "2-0"


def test_a_shed_tier_is_refused_before_any_zone_and_told_when_to_come_again(layout: Layout) -> None:
    weights = Weights(version="7", weights=dict.fromkeys(layout.zones, 100))
    document = envoy.routes(layout, weights, Admission(version="3", shed=("batch",)))
    refusal, route = document["resources"][0]["virtual_hosts"][0]["routes"]

    assert document["version_info"] == "7-3"
    assert refusal["match"]["headers"] == [{"name": "x-fleetward-tier", "string_match": {"exact": "batch"}}]
    assert refusal["direct_response"]["status"] == 429
    assert refusal["response_headers_to_add"][0]["header"] == {"key": "retry-after", "value": "5"}
    assert "direct_response" not in route


def test_a_limit_is_a_token_bucket_on_its_zone_alone(layout: Layout) -> None:
    weights = Weights(version="7", weights=dict.fromkeys(layout.zones, 100))
    document = envoy.routes(layout, weights, Admission(version="3", limits={"zone-b": 4}))
    limited = {entry["name"]: entry.get("typed_per_filter_config", {}) for entry in weighted(document)}

    assert {name for name, bucket in limited.items() if bucket} == {"chat-zone-b"}
    (bucket,) = limited["chat-zone-b"].values()
    assert bucket["token_bucket"] == {"max_tokens": 4, "tokens_per_fill": 4, "fill_interval": "1s"}
    assert bucket["filter_enforced"]["default_value"]["numerator"] == 100
    manager = envoy.bootstrap(layout)["static_resources"]["listeners"][0]["filter_chains"][0]["filters"][0]
    names = [each["name"] for each in manager["typed_config"]["http_filters"]]
    assert names == [*limited["chat-zone-b"], "envoy.filters.http.router"]
