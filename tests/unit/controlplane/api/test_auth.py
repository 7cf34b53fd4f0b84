"""Nobody changes anything without the token; a browser also proves that a page of ours asked."""

from __future__ import annotations

import re

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from controlplane.api.auth import COOKIE, CSRF_HEADER, issue_login_token
from controlplane.kernel.clock import VirtualClock
from controlplane.store import tables
from controlplane.store.database import Database

HALT = {"reason": "a look around"}


def sign_in(client: TestClient, token: str) -> str:
    answer = client.post("/api/v1/auth/exchange", json={"token": token})
    assert answer.status_code == 200
    return str(answer.json()["csrfToken"])


def test_reading_needs_no_session(client: TestClient) -> None:
    assert client.get("/api/v1/halts").status_code == 200
    assert client.get("/api/v1/auth/me").json() == {
        "signedIn": False, "name": None, "role": None, "expiresAt": None, "csrfToken": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic YTpi"}, {"Cookie": f"{COOKIE}=wrong"}],
)
def test_a_write_without_a_known_token_is_refused_and_changes_nothing(
    client: TestClient, database: Database, headers: dict[str, str]
) -> None:
    answer = client.post("/api/v1/halts", json=HALT, headers=headers)
    assert answer.status_code == 401
    assert answer.json()["code"] == "signed_out"
    assert answer.headers["www-authenticate"] == "Bearer"
    with database.reading() as tx:
        assert tx.halts.list() == []


def test_the_admin_token_as_bearer_may_write(client: TestClient, bearer: dict[str, str]) -> None:
    answer = client.post("/api/v1/halts", json=HALT, headers=bearer)
    assert answer.status_code == 201
    assert answer.json()["by"] == "admin"


@pytest.mark.timeout(30)  # the whole API is described
def test_every_writing_route_asks_who_writes(client: TestClient) -> None:
    document = client.get("/api/v1/openapi.json").json()
    reading = {f"/api/v1/playbooks/{what}" for what in ("validate", "lint", "fmt", "{name}/plan")}
    open_to_all = {"/api/v1/auth/exchange", *reading}
    writing = [
        (path, method)
        for path, methods in document["paths"].items()
        for method in methods
        if method in {"post", "put", "patch", "delete"} and path not in open_to_all
    ]
    assert writing
    for path, method in writing:
        answer = client.request(method, re.sub(r"\{\w+\}", "x", path), json={"reason": "why not"})
        assert (path, answer.status_code) == (path, 401)


def test_a_session_writes_with_its_csrf_token_only(client: TestClient, admin: str) -> None:
    csrf = sign_in(client, admin)
    without = client.post("/api/v1/halts", json=HALT)
    wrong = client.post("/api/v1/halts", json=HALT, headers={CSRF_HEADER: "0" * 64})
    right = client.post("/api/v1/halts", json=HALT, headers={CSRF_HEADER: csrf})
    assert [each.status_code for each in (without, wrong, right)] == [403, 403, 201]


def test_another_sites_page_may_not_use_a_session(client: TestClient, admin: str) -> None:
    csrf = sign_in(client, admin)
    headers = {CSRF_HEADER: csrf, "Origin": "https://evil.example"}
    assert client.post("/api/v1/halts", json=HALT, headers=headers).status_code == 403
    exchange = client.post(
        "/api/v1/auth/exchange", json={"token": admin}, headers={"Origin": "https://evil.example"}
    )
    assert exchange.status_code == 403


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(client: TestClient, admin: str) -> None:
    answer = client.post("/api/v1/auth/exchange", json={"token": admin})
    attributes = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")}
    assert {"httponly", "samesite=strict", "path=/api"} <= attributes


def test_the_session_tells_its_csrf_token_again_after_a_reload(client: TestClient, admin: str) -> None:
    csrf = sign_in(client, admin)
    me = client.get("/api/v1/auth/me").json()
    assert (me["signedIn"], me["name"], me["csrfToken"]) == (True, "admin", csrf)


def test_a_sign_in_link_works_once(client: TestClient, database: Database) -> None:
    with database.transaction() as tx:
        token = issue_login_token(tx)
    first = client.post("/api/v1/auth/exchange", json={"token": token})
    client.cookies.clear()
    second = client.post("/api/v1/auth/exchange", json={"token": token})
    assert (first.status_code, second.status_code) == (200, 401)
    assert COOKIE not in client.cookies


def test_a_sign_in_link_is_good_for_ten_minutes(
    client: TestClient, database: Database, clock: VirtualClock
) -> None:
    with database.transaction() as tx:
        early, late = issue_login_token(tx), issue_login_token(tx)
    clock.advance(599)
    assert client.post("/api/v1/auth/exchange", json={"token": early}).status_code == 200
    clock.advance(2)
    assert client.post("/api/v1/auth/exchange", json={"token": late}).status_code == 401


def test_a_login_token_is_no_bearer_token(client: TestClient, database: Database) -> None:
    with database.transaction() as tx:
        token = issue_login_token(tx)
    answer = client.post("/api/v1/halts", json=HALT, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401


def test_a_sessions_secret_is_neither_a_bearer_token_nor_exchangeable(client: TestClient, admin: str) -> None:
    sign_in(client, admin)
    secret = client.cookies[COOKIE]
    client.cookies.clear()
    bearer = client.post("/api/v1/halts", json=HALT, headers={"Authorization": f"Bearer {secret}"})
    again = client.post("/api/v1/auth/exchange", json={"token": secret})
    assert (bearer.status_code, again.status_code) == (401, 401)


def test_a_session_ends_by_itself(client: TestClient, admin: str, clock: VirtualClock) -> None:
    sign_in(client, admin)
    clock.advance(12 * 3600 + 1)
    assert client.get("/api/v1/auth/me").json()["signedIn"] is False


def test_signing_out_ends_the_session_everywhere(client: TestClient, admin: str) -> None:
    csrf = sign_in(client, admin)
    secret = client.cookies[COOKIE]
    assert client.post("/api/v1/auth/logout", headers={CSRF_HEADER: csrf}).status_code == 200
    client.cookies.set(COOKIE, secret, domain="127.0.0.1", path="/api")
    assert client.get("/api/v1/auth/me").json()["signedIn"] is False


def test_no_secret_is_kept(client: TestClient, database: Database, admin: str) -> None:
    sign_in(client, admin)
    secrets = {admin, client.cookies[COOKIE]}
    with database.reading() as tx:
        kept = {row["digest"] for row in tx.rows(select(tables.tokens))}
    assert len(kept) == 2
    assert kept & secrets == set()
