"""`fleetward up`: real processes, one owner for a state directory, and nothing left behind."""

from __future__ import annotations

import subprocess

import psutil
import pytest
import redis

from tests.e2e.fleet.conftest import LAB, NewFleet
from tests.support.fleet_up import OWN, FleetUp, held, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_ps_shows_the_real_programs(fleet: FleetUp) -> None:
    pids = {record.name: record.pid for record in fleet.table.records()}
    assert set(pids) == LAB | set(OWN)
    listed = subprocess.run(
        ["ps", "-o", "pid=,args=", "-p", ",".join(map(str, pids.values()))],
        capture_output=True,
        text=True,
        check=True,
    )
    arguments = dict(line.split(maxsplit=1) for line in listed.stdout.splitlines())
    programs = {
        name: arguments[str(pids[name])].split()[0].rpartition("/")[2]
        for name in ("envoy", "prometheus", "redis")
    }
    assert programs == {"envoy": "envoy", "prometheus": "prometheus", "redis": "redis-server"}
    assert "controlplane.cli.main worker" in arguments[str(pids["worker"])]


def test_the_worker_waits_at_redis_as_celery_does(fleet: FleetUp) -> None:
    worker = psutil.Process(fleet.table.get("worker").pid)
    with redis.Redis(port=fleet.redis_port()) as broker:

        def blocked_pops() -> set[int]:
            clients = broker.client_list()
            return {int(client["addr"].rpartition(":")[2]) for client in clients if client["cmd"] == "brpop"}

        ends = {connection.laddr.port for connection in worker.net_connections("inet")}
        assert wait_for("a blocked pop at Redis", blocked_pops) <= ends


def test_fleets_live_side_by_side_and_ctrl_c_ends_one(fleet: FleetUp, new_fleet: NewFleet) -> None:
    second = new_fleet().start()
    ports = second.ports()
    assert len(ports) > 20
    assert not ports & fleet.ports()
    sentences = second.interrupt(), second.left(), held(ports)
    assert sentences == (0, [], []), second.said
    assert "had to kill" not in second.said
    assert fleet.alive() == LAB | set(OWN)


def test_a_state_directory_has_one_owner(fleet: FleetUp) -> None:
    before = {record.name: record.pid for record in fleet.table.records()}
    done = fleet.run("up")
    assert done.returncode == 2
    assert f"another `fleetward up` runs in {fleet.state_dir}" in " ".join(done.stderr.split())
    assert "--state-dir" in done.stderr
    assert {record.name: record.pid for record in fleet.table.records()} == before
