"""``fleetward incidents`` and ``why``: what happens, and for what reason something was done or not."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from controlplane.cli.context import StateDir, database
from controlplane.cli.output import Format, FormatOption, emit_json, emit_table, out
from controlplane.kernel.clock import to_rfc3339
from controlplane.model.target import Target

Limit = Annotated[int, typer.Option(help="At most so many, newest first.", min=1, max=1000)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("incidents")(incidents)
    app.command("why")(why)


def incidents(
    state_dir: StateDir = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those that are resolved.")] = False,
    limit: Limit = 20,
    output: FormatOption = Format.TABLE,
) -> None:
    """List open incidents, newest first."""
    with database(state_dir) as db, db.reading() as tx:
        found = tx.incidents.list(open=None if everything else True, limit=limit)
    if output is Format.JSON:
        emit_json(found)
        return
    columns = ("incident", "state", "target", "title", "opened", "resolved")
    rows = [(i.id, i.state, i.target, i.title, _time(i.opened_at), _time(i.resolved_at)) for i in found]
    emit_table("Incidents", columns, rows, "No open incident.")


def why(
    subject: Annotated[
        str,
        typer.Argument(help="A target (chat/local/zone-b) or an incident's id.", metavar="TARGET|INCIDENT"),
    ],
    state_dir: StateDir = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Tell why automation acted, or did not: each guard's last verdict and the values it was made on."""
    from controlplane.decide.explain import explain

    with database(state_dir) as db, db.reading() as tx:
        if subject.startswith("inc-"):
            tx.incidents.get(subject)
        else:
            Target.parse(subject)
        answer = explain(subject, tx.incidents.list(limit=1000), tx.decisions.list(limit=5000))
    if output is Format.JSON:
        emit_json(answer)
        return
    if answer.is_empty:
        out.print(f"Nothing was decided about {subject} yet: no incident, no trigger.", markup=False)
        return
    for line in answer.incidents:
        out.print(line, markup=False, soft_wrap=True)
    for each in answer.playbooks:
        out.print(
            f"\n{each.playbook} on {each.target}: {each.outcome}. {each.why}", markup=False, soft_wrap=True
        )
        rows = [
            (
                guard.guard,
                guard.verdict,
                guard.message,
                ", ".join(f"{k}={v}" for k, v in guard.values.items()),
            )
            for guard in each.guards
        ]
        emit_table(
            f"{each.trigger}, last at {each.last_at}", ("guard", "verdict", "message", "values"), rows, ""
        )


def _time(at: datetime | None) -> str:
    return "" if at is None else to_rfc3339(at)
