"""``fleetward token``: named keys of the API, each with a role and an end."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from controlplane.cli import given
from controlplane.cli.context import As, StateDir, database, who
from controlplane.cli.output import Format, FormatOption, emit_json, emit_table, out
from controlplane.kernel.clock import to_rfc3339
from controlplane.kernel.errors import NotFound
from controlplane.model.identity import Role

Name = Annotated[str, typer.Argument(help="Whose it is: a person or a program.", metavar="NAME")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    tokens = typer.Typer(help="Named keys of the API, each with a role and an end.", no_args_is_help=True)
    tokens.command("create")(create)
    tokens.command("list")(list_)
    tokens.command("revoke")(revoke)
    app.add_typer(tokens, name="token")


def create(
    name: Name,
    role: Annotated[Role, typer.Option(help="What it may do; each role may do all that the one before may.")],
    expires: Annotated[str, typer.Option("--expires", help="How long it is good, e.g. 12h or 90d.")],
    state_dir: StateDir = None,
    as_: As = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Make a token, and print its secret: the one time it can be seen.

    Example: fleetward token create ada --role approver --expires 90d
    """
    from controlplane.api.auth import issue_api_token

    lifetime = timedelta(seconds=given.duration(expires, "--expires", least=1.0))
    with database(state_dir) as db, db.transaction() as tx:
        secret = issue_api_token(tx, name, role, tx.now + lifetime, by=who(as_))
        until = tx.now + lifetime
    if output is Format.JSON:
        emit_json({"name": name, "role": role, "expiresAt": to_rfc3339(until), "token": secret})
        return
    out.print(secret, markup=False, soft_wrap=True)
    out.print(f"{name} is {role} until {to_rfc3339(until)}. It is not shown again.", markup=False)


def list_(state_dir: StateDir = None, output: FormatOption = Format.TABLE) -> None:
    """List the tokens that are good now; their secrets are kept nowhere."""
    with database(state_dir) as db, db.reading() as tx:
        found = tx.tokens.of_kind("api")
    shown = [
        {
            "name": each.name,
            "role": each.role.value,
            "createdAt": to_rfc3339(each.created_at),
            "createdBy": each.created_by,
            "expiresAt": to_rfc3339(each.expires_at) if each.expires_at else None,
        }
        for each in found
    ]
    if output is Format.JSON:
        emit_json(shown)
        return
    columns = ("name", "role", "created", "by", "expires")
    emit_table("Tokens", columns, [tuple(each.values()) for each in shown], "No token.")


def revoke(name: Name, state_dir: StateDir = None, output: FormatOption = Format.TABLE) -> None:
    """End a token now, and every session that was begun with it."""
    with database(state_dir) as db, db.transaction() as tx:
        if not tx.tokens.revoke(name):
            msg = f"no token `{name}`"
            raise NotFound(msg, hint="`fleetward token list` shows them")
    if output is Format.JSON:
        emit_json({"name": name, "revoked": True})
        return
    out.print(f"{name}'s token is revoked, and its sessions have ended.", markup=False)
