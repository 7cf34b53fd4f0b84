"""Named tokens: what each role may do, until when, and that nothing of it outlives a revocation."""

from __future__ import annotations

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from controlplane.api.auth import CSRF_HEADER, issue_api_token
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Conflict, InvalidInput
from controlplane.model.identity import Role
from controlplane.store.database import Database

HALT = {"reason": "a look around"}


def issue(database: Database, name: str, role: Role, seconds: float = 3600.0) -> str:
    with database.transaction() as tx:
        return issue_api_token(tx, name, role, tx.now + timedelta(seconds=seconds), by="cli:root")


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@pytest.mark.parametrize(
    ("role", "status"),
    [(Role.VIEWER, 403), (Role.OPERATOR, 201), (Role.APPROVER, 201), (Role.ADMIN, 201)],
)
def test_a_role_may_do_what_the_ones_before_it_may(
    client: TestClient, database: Database, role: Role, status: int
) -> None:
    headers = bearer(issue(database, "ada", role))
    answer = client.post("/api/v1/halts", json=HALT, headers=headers)
    assert answer.status_code == status
    if status == 201:
        assert answer.json()["by"] == "ada"
    else:
        assert answer.json()["detail"] == "this needs the role operator; ada is viewer"
    me = client.get("/api/v1/auth/me", headers=headers).json()
    assert (me["name"], me["role"]) == ("ada", role.value)


def test_every_writing_route_of_runs_and_halts_refuses_a_viewer(
    client: TestClient, database: Database
) -> None:
    headers = bearer(issue(database, "ada", Role.VIEWER))
    for operation in ("cancel", "pause", "continue", "retry", "undo"):
        assert client.post(f"/api/v1/runs/run-1/{operation}", json={}, headers=headers).status_code == 403
    assert client.delete("/api/v1/halts/halt-1", headers=headers).status_code == 403


def test_a_token_ends_by_itself(client: TestClient, database: Database, clock: VirtualClock) -> None:
    headers = bearer(issue(database, "ada", Role.OPERATOR, 60))
    clock.advance(61)
    assert client.post("/api/v1/halts", json=HALT, headers=headers).status_code == 401


def test_a_session_has_its_tokens_role_and_ends_with_it(
    client: TestClient, database: Database, clock: VirtualClock
) -> None:
    token = issue(database, "ada", Role.VIEWER, 600)
    session = client.post("/api/v1/auth/exchange", json={"token": token}).json()
    assert (session["name"], session["role"]) == ("ada", "viewer")
    answer = client.post("/api/v1/halts", json=HALT, headers={CSRF_HEADER: session["csrfToken"]})
    assert answer.status_code == 403
    clock.advance(601)
    assert client.get("/api/v1/auth/me").json()["signedIn"] is False


def test_revoking_a_token_ends_its_sessions_and_no_others(client: TestClient, database: Database) -> None:
    token = issue(database, "ada", Role.OPERATOR)
    other = bearer(issue(database, "bob", Role.OPERATOR))
    client.post("/api/v1/auth/exchange", json={"token": token})
    assert client.get("/api/v1/auth/me").json()["name"] == "ada"
    with database.transaction() as tx:
        assert tx.tokens.revoke("ada")
        assert not tx.tokens.revoke("ada")
    assert client.get("/api/v1/auth/me").json()["signedIn"] is False
    assert client.post("/api/v1/halts", json=HALT, headers=bearer(token)).status_code == 401
    assert client.post("/api/v1/halts", json=HALT, headers=other).status_code == 201


def test_a_name_is_taken_while_its_token_is_good(database: Database, clock: VirtualClock) -> None:
    issue(database, "ada", Role.VIEWER, 60)
    with pytest.raises(Conflict):
        issue(database, "ada", Role.ADMIN)
    clock.advance(61)
    assert issue(database, "ada", Role.VIEWER)


@pytest.mark.parametrize("name", ["admin", "Ada", "ada lovelace", "", "cli:ada"])
def test_a_name_that_could_be_taken_for_somebody_else_is_refused(database: Database, name: str) -> None:
    with pytest.raises(InvalidInput):
        issue(database, name, Role.VIEWER)
