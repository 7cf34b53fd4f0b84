"""Starting, adopting and ending labs, several of them, on one machine."""

import json
import os
import signal
import socket
import stat
from pathlib import Path

import psutil
import pytest

from chaos.lab.layout import LabSettings
from chaos.lab.supervisor import Lab
from controlplane.kernel.errors import NotFound, Unavailable
from tests.integration.lab.conftest import Users, wait_until

pytestmark = pytest.mark.slow

SMALL = LabSettings(zones=1, nodes_per_zone=1, replicas_per_node=1, request_rate=1.0)


def free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return probe.connect_ex(("127.0.0.1", port)) != 0


def marked(state_dir: Path) -> list[psutil.Process]:
    return Lab(state_dir).table.strays()


def test_a_second_lab_runs_beside_and_its_end_leaves_nothing(users: Users, state_dir: Path) -> None:
    lines: list[str] = []
    second = Lab(state_dir, SMALL)
    second.start(lines.append)
    layout = second.layout
    pids = [record.pid for record in second.processes]
    try:
        assert users.get("platform", "/v1/topology")["zones"][2]["name"] == "zone-c"
        assert lines[-1] == "targets scraped: 5 of 5"
        assert second.addresses == json.loads((state_dir / "lab.json").read_text())
    finally:
        killed = second.stop()

    assert killed == []
    assert not any(psutil.pid_exists(pid) for pid in pids)
    assert marked(state_dir) == []
    assert second.processes == []
    assert all(
        free(port)
        for port in (
            layout.gateway_port,
            layout.admin_port,
            layout.platform_port,
            layout.prometheus_port,
            layout.traffic_port,
            layout.nodes[0].dcgm_port,
            layout.nodes[0].replicas[0].port,
        )
    )
    assert not layout.sockets.exists()
    with pytest.raises(NotFound):
        _ = second.addresses
    assert users.lab.dead() == []


def test_folders_and_sockets_are_the_owners_alone(users: Users) -> None:
    layout = users.lab.layout

    assert stat.S_IMODE(layout.state_dir.stat().st_mode) == 0o700
    assert stat.S_IMODE(layout.sockets.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in layout.sockets.iterdir()} == {0o600}


def test_what_an_earlier_start_left_is_adopted_if_whole_and_ended_if_not(state_dir: Path) -> None:
    first = Lab(state_dir, SMALL)
    first.start()
    pids = {record.name: record.pid for record in first.processes}
    later = Lab(state_dir, SMALL)
    try:
        assert later.adopt()
        assert {record.name: record.pid for record in later.processes} == pids
        assert not Lab(state_dir, SMALL.model_copy(update={"seed": 2})).adopt()

        later.table.signal("node-a1", signal.SIGKILL)
        assert wait_until(later.dead, 5)
        assert not later.adopt()

        (state_dir / "processes.json").unlink()  # the worst case: not even the table is left
        later.start()
        assert all(not psutil.pid_exists(pid) or _is_zombie(pid) for pid in pids.values())
        assert set(pids.values()).isdisjoint(record.pid for record in later.processes)
    finally:
        later.stop()


def test_a_start_that_fails_says_why_and_leaves_nothing_running(
    state_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin" / "prometheus"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho no space left on device\nexit 3\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    lab = Lab(state_dir, SMALL)

    with pytest.raises(Unavailable, match=r"prometheus ended[^\n]*\n.*no space left"):
        lab.start()
    assert lab.processes == []
    assert marked(state_dir) == []


def _is_zombie(pid: int) -> bool:
    return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
