"""A zone whose nodes are killed: what users feel, what the platform shows, and the way back."""

import signal
import time

import pytest

from tests.integration.lab.conftest import Users, wait_ready, wait_until

pytestmark = pytest.mark.slow

ZONE = ("node-a1", "node-a2")


def failed_share(users: Users, since: float, until: float) -> float:
    sent = [request for request in users.truth(since) if request["sentAt"] < until]
    assert len(sent) > 20
    return sum(request["outcome"] in ("error", "timeout") for request in sent) / len(sent)


def test_a_killed_zone_costs_a_third_until_weights_move_and_respawns_from_the_record(users: Users) -> None:
    before = users.nodes()
    for name in ZONE:
        assert users.lab.table.signal(name, signal.SIGKILL)
    assert wait_until(lambda: not any(users.nodes()[name]["ready"] for name in ZONE), 6)

    killed = time.time() + 2  # Envoy's health checks and retries have settled by then
    time.sleep(12)
    lost = failed_share(users, killed, time.time() - 2)
    assert 0.2 < lost < 0.5
    seen = {request["zone"] for request in users.truth(killed) if request["status"] == 503}
    assert seen == {"zone-a"}

    users.put(a=0)
    moved = time.time()
    time.sleep(8)
    assert failed_share(users, moved, time.time() - 2) == 0
    assert not any(replica["ready"] for replica in users.replicas().values() if "-a" in replica["name"])

    for name in ZONE:
        users.lab.table.respawn(name)
    wait_ready(users)
    after = users.nodes()
    assert all(after[name]["uid"] != before[name]["uid"] for name in ZONE)
    assert after["node-b1"]["uid"] == before["node-b1"]["uid"]


def test_a_stopped_node_is_not_ready_and_is_the_same_when_it_goes_on(users: Users) -> None:
    before = users.nodes()["node-b2"]
    users.lab.table.signal("node-b2", signal.SIGSTOP)
    try:
        assert wait_until(lambda: not users.nodes()["node-b2"]["ready"], 6)
        conditions = wait_until(
            lambda: users.query('kube_node_status_condition{node="node-b2", status="unknown"} == 1'), 8
        )
        assert len(conditions) == 1
    finally:
        users.lab.table.signal("node-b2", signal.SIGCONT)

    assert wait_until(lambda: users.nodes()["node-b2"]["ready"], 6)
    assert users.nodes()["node-b2"]["uid"] == before["uid"]
