"""``fleetward halt`` and ``fleetward resume``: stop automation, with a reason and an end.

They write the database directly: the one command that must work when nothing else does.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from controlplane.cli import given
from controlplane.cli.context import StateDir, database, who
from controlplane.cli.output import Format, FormatOption, emit_json, emit_table, out
from controlplane.kernel.clock import to_rfc3339
from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.ids import new_id
from controlplane.model.records import Halt
from controlplane.model.target import Target


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("halt")(halt)
    app.command("resume")(resume)


def halt(
    reason: Annotated[str, typer.Option("--reason", help="Why; everybody sees it.")],
    state_dir: StateDir = None,
    service: Annotated[str | None, typer.Option(help="Only this service.")] = None,
    zone: Annotated[str | None, typer.Option(help="Only this zone.")] = None,
    target: Annotated[
        str | None, typer.Option(help="Only this target: service/cluster/zone/node/replica.")
    ] = None,
    for_: Annotated[
        str | None, typer.Option("--for", help="Ends by itself after this time, e.g. 2h.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Stop automation and drills, everywhere or in a scope, until it ends or is lifted.

    Running remediations stop before their next step; drills are cancelled and their faults
    taken back. Example: fleetward halt --zone zone-b --for 2h --reason "network works"
    """
    if not reason.strip():
        message = "a halt needs a reason"
        raise InvalidInput(message, hint="--reason '...'")
    if target is not None:
        Target.parse(target)
    seconds = given.duration(for_, "--for", least=1.0) if for_ is not None else None
    with database(state_dir) as db, db.transaction() as tx:
        made = tx.halts.add(
            Halt(
                id=new_id("halt", db.clock),
                service=service,
                zone=zone,
                target=target,
                reason=reason.strip(),
                by=who(),
                created_at=tx.now,
                expires_at=None if seconds is None else tx.now + timedelta(seconds=seconds),
            )
        )
    if output is Format.JSON:
        emit_json(made)
        return
    until = "until it is lifted" if made.expires_at is None else f"until {to_rfc3339(made.expires_at)}"
    out.print(f"Automation is halted {_scope(made)} {until}. Lift it with: fleetward resume {made.id}")


def resume(
    halt_id: Annotated[str | None, typer.Argument(help="The halt to lift.", metavar="HALT")] = None,
    state_dir: StateDir = None,
    everything: Annotated[bool, typer.Option("--all", help="Lift every halt in force.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Lift a halt; without an argument, list those in force."""
    with database(state_dir) as db, db.transaction() as tx:
        in_force = tx.halts.in_force()
        chosen = [tx.halts.get(halt_id)] if halt_id else in_force if everything else []
        lifted = [tx.halts.lift(each.id) for each in chosen]
    shown = lifted if chosen else in_force
    if output is Format.JSON:
        emit_json(shown)
        return
    title = "Lifted" if chosen else "In force"
    columns = ("halt", "scope", "reason", "by", "since", "until")
    rows = [
        (
            each.id,
            _scope(each),
            each.reason,
            each.by,
            to_rfc3339(each.created_at),
            to_rfc3339(each.expires_at) if each.expires_at else "lifted by hand",
        )
        for each in shown
    ]
    emit_table(title, columns, rows, "No halt is in force.")


def _scope(made: Halt) -> str:
    parts = [f"{name} {value}" for name in ("service", "zone", "target") if (value := getattr(made, name))]
    return "in " + ", ".join(parts) if parts else "everywhere"
