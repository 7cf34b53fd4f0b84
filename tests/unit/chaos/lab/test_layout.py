"""The lab's shape: names, ports, sockets, and the file it is kept in."""

import socket
from pathlib import Path

import pytest

from chaos.lab import layout
from chaos.lab.layout import LabSettings, Layout
from controlplane.kernel.errors import NotFound


def test_default_fleet_has_three_zones_of_two_nodes_of_two_replicas(tmp_path: Path) -> None:
    fleet = layout.plan(tmp_path, LabSettings())

    assert fleet.zones == ("zone-a", "zone-b", "zone-c")
    assert [node.node for node in fleet.nodes_of("zone-b")] == ["node-b1", "node-b2"]
    assert [replica.name for node in fleet.nodes_of("zone-c") for replica in node.replicas] == [
        "replica-c1-0",
        "replica-c1-1",
        "replica-c2-0",
        "replica-c2-1",
    ]


def test_every_port_is_its_own_and_outside_the_ephemeral_ranges(tmp_path: Path) -> None:
    fleet = layout.plan(tmp_path, LabSettings())
    ports = [
        fleet.gateway_port,
        fleet.admin_port,
        fleet.platform_port,
        fleet.prometheus_port,
        fleet.traffic_port,
    ]
    ports += [node.dcgm_port for node in fleet.nodes]
    ports += [replica.port for node in fleet.nodes for replica in node.replicas]

    assert len(set(ports)) == 5 + 6 + 12
    assert all(20_000 <= port < 32_000 for port in ports)


def test_ports_in_use_are_not_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(layout, "PORTS", range(port, port + 40))

        assert port not in layout.free_ports(10)


def test_gpu_uuids_belong_to_slots_so_they_outlive_a_restart(tmp_path: Path) -> None:
    first = layout.plan(tmp_path / "one", LabSettings())
    second = layout.plan(tmp_path / "two", LabSettings())
    uuids = [replica.gpu_uuid for node in first.nodes for replica in node.replicas]

    assert uuids == [replica.gpu_uuid for node in second.nodes for replica in node.replicas]
    assert len(set(uuids)) == 12


def test_sockets_move_to_a_short_folder_when_the_state_directory_is_deep(tmp_path: Path) -> None:
    shallow = layout.plan(Path("/s"), LabSettings())
    deep = layout.plan(tmp_path / ("d" * 120), LabSettings())

    assert shallow.sockets == Path("/s/sockets")
    try:
        assert all(len(str(node.socket).encode()) <= layout.SOCKET_PATH_LIMIT for node in deep.nodes)
        assert deep.addresses()["sockets"] == str(deep.sockets)
    finally:
        deep.sockets.rmdir()


def test_a_saved_layout_reads_back_the_same(tmp_path: Path) -> None:
    fleet = layout.plan(tmp_path, LabSettings(seed=7, zones=2))
    fleet.save()

    assert Layout.load(tmp_path) == fleet


def test_loading_where_no_lab_was_started_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no lab was started"):
        Layout.load(tmp_path)
