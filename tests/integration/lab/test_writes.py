"""The control API against real Envoy and real nodes: effects in force, once, fenced, and remembered."""

import signal
import time

import pytest

from tests.integration.lab.conftest import Users, wait_ready, wait_until

pytestmark = pytest.mark.slow

OUT = {"zone-a": 0, "zone-b": 100, "zone-c": 100}


def test_a_zone_of_weight_zero_gets_no_new_request(users: Users) -> None:
    answer = users.put(a=0)
    moved = time.time()
    time.sleep(6)
    sent = users.truth(moved)

    assert answer.status_code == 200
    assert answer.json()["weights"] == OUT
    assert users.weights() == answer.json()
    assert len(sent) > 30
    assert {request["zone"] for request in sent if request["zone"]} == {"zone-b", "zone-c"}


def test_small_weights_are_a_share_of_their_sum(users: Users) -> None:
    users.put(a=5)
    moved = time.time()
    time.sleep(10)
    sent = [request for request in users.truth(moved) if request["zone"]]

    assert 0 <= sum(request["zone"] == "zone-a" for request in sent) / len(sent) < 0.12


def test_all_weights_zero_and_unknown_zones_are_refused(users: Users) -> None:
    before = users.writes()
    body = {"weights": {"zone-a": 1}, "expectedVersion": None, "by": None}

    assert users.put(a=0, b=0, c=0).status_code == 422
    assert users.put(a=101).status_code == 422
    assert users.http.put(users.url("platform") + "/v1/weights", json=body).status_code == 422
    assert users.writes() == before


def test_a_version_that_moved_on_is_a_conflict_that_shows_what_stands(users: Users) -> None:
    read = users.weights()["version"]
    users.put(a=50)
    before = users.writes()

    answer = users.put(a=0, expected=read)

    assert (answer.status_code, answer.json()["code"]) == (409, "version_conflict")
    assert answer.json()["current"] == users.weights()
    assert users.writes() == before


def test_a_lower_fence_is_refused_and_the_same_key_has_no_second_effect(users: Users) -> None:
    by = users.by(run="run-fence", fence=5)
    first = users.put(by, a=0)
    after_first = users.writes()

    again = users.put(by, a=0)
    stale = users.put(users.by(run="run-fence", fence=4), a=100)

    assert (again.status_code, again.json()) == (200, first.json())
    assert (stale.status_code, stale.json()["code"], stale.json()["highest"]) == (409, "fenced", 5)
    assert users.writes() == after_first
    assert [write["by"] for write in after_first if write["by"] == by] == [by]


def test_a_killed_gateway_process_comes_back_with_version_fence_and_key(users: Users) -> None:
    by = users.by(run="run-memory", fence=9)
    first = users.put(by, a=0)
    writes = users.writes()

    users.lab.table.signal("gateway", signal.SIGKILL)
    assert wait_until(lambda: [record.name for record in users.lab.dead()] == ["gateway"], 5)
    users.lab.table.respawn("gateway")
    wait_ready(users)

    assert users.weights() == first.json()
    assert users.writes() == writes
    assert users.put(by, a=0).json() == first.json()
    assert users.put(users.by(run="run-memory", fence=8)).json()["code"] == "fenced"
    assert users.writes() == writes


def test_without_envoy_a_write_is_refused_with_nothing_done_and_envoy_comes_back_with_the_weights(
    users: Users,
) -> None:
    first = users.put(a=0)
    writes = users.writes()
    users.lab.table.signal("envoy", signal.SIGKILL)

    answer = users.put(a=100)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert users.writes() == writes

    users.lab.table.respawn("envoy")
    wait_ready(users)
    assert users.weights() == first.json()


def test_a_restart_makes_a_new_incarnation_once(users: Users) -> None:
    name = "replica-b1-0"
    url = f"{users.url('platform')}/v1/replicas/{name}/restart"
    old = users.replicas()[name]["uid"]
    by = users.by()

    answer = users.http.post(url, json={"expectedUid": old, "reason": "test", "by": by})
    new = answer.json()["uid"]
    assert answer.status_code == 202
    assert new != old
    assert wait_until(lambda: users.replicas()[name]["uid"] == new, 5)

    again = users.http.post(url, json={"expectedUid": old, "reason": "test", "by": by})
    stale = users.http.post(url, json={"expectedUid": old, "reason": "test", "by": users.by()})
    assert (again.status_code, again.json()) == (202, {"uid": new})
    assert (stale.status_code, stale.json()["current"]) == (409, {"uid": new})

    mine = [write for write in users.writes() if write["target"].endswith(name)]
    assert [(write["op"], write["before"], write["after"], write["by"]) for write in mine] == [
        ("restart", old, new, by)
    ]


def test_a_restart_on_a_dead_node_is_unavailable_and_leaves_no_line(users: Users) -> None:
    users.lab.table.signal("node-c2", signal.SIGKILL)
    before = users.writes()
    url = f"{users.url('platform')}/v1/replicas/replica-c2-1/restart"

    answer = users.http.post(url, json={"reason": "test", "by": users.by()})

    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert users.writes() == before


def test_an_unknown_replica_is_not_found(users: Users) -> None:
    url = f"{users.url('platform')}/v1/replicas/replica-z9-0/restart"

    assert users.http.post(url, json={"reason": "test", "by": None}).status_code == 404
