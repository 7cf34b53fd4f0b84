"""``fleetward runs``, ``incidents`` and ``why``: what happened, what is happening, and for what reason."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

import typer

from controlplane.cli.context import StateDir, database
from controlplane.cli.output import Format, FormatOption, emit_json, emit_table, out
from controlplane.kernel.clock import to_rfc3339
from controlplane.model.target import Target

Limit = Annotated[int, typer.Option(help="At most so many, newest first.", min=1, max=1000)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    runs_app = typer.Typer(help="Runs of playbooks and drills.", invoke_without_command=True)
    runs_app.callback()(runs)
    runs_app.command("show")(show_run)
    app.add_typer(runs_app, name="runs")
    app.command("incidents")(incidents)
    app.command("why")(why)


def runs(
    context: typer.Context,
    state_dir: StateDir = None,
    active: Annotated[bool, typer.Option("--active", help="Only those that have not ended.")] = False,
    limit: Limit = 20,
    output: FormatOption = Format.TABLE,
) -> None:
    """List runs, newest first. `fleetward runs show RUN` tells one run's whole story."""
    if context.invoked_subcommand is not None:
        return
    from controlplane.store.runs import RunQuery

    with database(state_dir) as db, db.reading() as tx:
        found = tx.runs.list(RunQuery(active=True if active else None), limit=limit)
    if output is Format.JSON:
        emit_json(found)
        return
    columns = ("run", "kind", "name", "target", "state", "started", "reason")
    rows = [
        (r.id, r.kind, r.name, r.target, r.state, _time(r.started_at or r.created_at), r.reason)
        for r in found
    ]
    emit_table("Runs", columns, rows, "No run yet.")


def show_run(
    run: Annotated[str, typer.Argument(help="The run's id.")],
    state_dir: StateDir = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Tell one run's story: steps, attempts, journal, and what was taken back."""
    with database(state_dir) as db, db.reading() as tx:
        found = tx.runs.get(run)
        story: dict[str, Any] = {
            "run": found,
            "steps": tx.steps.list(run),
            "attempts": tx.steps.attempts(run),
            "journal": tx.journal.list(run),
            "undo": tx.undo.list(run),
        }
    if output is Format.JSON:
        emit_json(story)
        return
    out.print(f"{found.id}  {found.kind} {found.name}  {found.state}  {found.target or ''}  {found.reason}")
    steps = [(s.position, s.id, s.uses, s.state, s.attempt, s.error) for s in story["steps"]]
    emit_table("Steps", ("#", "step", "uses", "state", "attempts", "error"), steps, "No step.")
    journal = [(_time(j.at), j.step or "", j.event, j.message) for j in story["journal"]]
    emit_table("Journal", ("at", "step", "event", "message"), journal, "Nothing was written down.")
    undo = [(u.step, u.target, u.field, u.before, u.applied, u.status, u.detail) for u in story["undo"]]
    emit_table(
        "Undo", ("step", "target", "field", "before", "applied", "status", "detail"), undo, "Nothing to undo."
    )


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
