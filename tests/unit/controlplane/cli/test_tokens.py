"""`fleetward token`: shown once, listed without its secret, revoked by name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from controlplane.kernel.errors import Conflict, InvalidInput, NotFound
from tests.unit.controlplane.cli.conftest import Result

Fleetward = Callable[..., Result]
pytestmark = pytest.mark.timeout(30)  # a whole command line and a database, several times a test


def create(fleetward: Fleetward, name: str, *more: str) -> Result:
    return fleetward("token", "create", name, "--role", "approver", "--expires", "90d", *more)


def test_a_token_is_shown_once_listed_and_revoked(fleetward: Fleetward) -> None:
    made = create(fleetward, "ada", "--as", "root", "-o", "json").json()
    listed = fleetward("token", "list", "-o", "json")
    (found,) = listed.json()
    assert (found["name"], found["role"], found["createdBy"]) == ("ada", "approver", "cli:root")
    assert found["expiresAt"] == made["expiresAt"]
    assert made["token"] not in listed.text
    assert isinstance(create(fleetward, "ada").error, Conflict)
    fleetward("token", "revoke", "ada")
    assert fleetward("token", "list").text.strip() == "No token."
    assert isinstance(fleetward("token", "revoke", "ada").error, NotFound)


def test_a_token_needs_a_role_an_end_and_a_name(fleetward: Fleetward) -> None:
    assert fleetward("token", "create", "ada", "--expires", "1h").code == 2
    assert fleetward("token", "create", "ada", "--role", "approver").code == 2
    assert fleetward("token", "create", "ada", "--role", "king", "--expires", "1h").code == 2
    assert isinstance(create(fleetward, "admin").error, InvalidInput)
