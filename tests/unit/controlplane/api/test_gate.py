"""Only known hosts are answered, and every answer tells a browser what it may do."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from controlplane.api.gate import SECURITY_HEADERS, host_name


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8700", "localhost:1", "LOCALHOST", "[::1]:8700", "fleet.example:9"]
)
def test_loopback_and_configured_hosts_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8700", "[::2]", "10.0.0.1", ""]
)
@pytest.mark.parametrize("path", ["/healthz", "/api/v1/overview", "/", "/assets/index-abc.js"])
def test_other_hosts_are_refused(client: TestClient, host: str, path: str) -> None:
    answer = client.get(path, headers={"Host": host})
    assert answer.status_code == 421
    assert answer.json()["code"] == "unknown_host"


@pytest.mark.parametrize(
    "path", ["/", "/api/v1/halts", "/api/v1/runs/none", "/assets/index-abc.js", "/metrics"]
)
def test_every_answer_carries_the_security_headers(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    assert {name: headers.get(name) for name in SECURITY_HEADERS} == SECURITY_HEADERS


def test_no_answer_invites_another_origin(client: TestClient) -> None:
    asking = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    for answer in (
        client.get("/api/v1/halts", headers=asking),
        client.options("/api/v1/halts", headers=asking),
    ):
        assert [name for name in answer.headers if name.startswith("access-control")] == []


def test_scripts_come_from_here_only() -> None:
    policy = SECURITY_HEADERS["Content-Security-Policy"]
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy


NAMES = st.text("abcdefghijklmnopqrstuvwxyz0123456789-.", min_size=1)


@given(NAMES, st.integers(0, 65535))
def test_neither_a_port_nor_case_changes_the_host(name: str, port: int) -> None:
    assert host_name(f"{name.upper()}:{port}") == host_name(name) == name
