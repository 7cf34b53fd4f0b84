"""``fleetward runs``: what ran, and what people do with a run.

All of it works on the database directly: a run can be stopped while the API is down.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.cli.context import As, StateDir, database, who
from controlplane.cli.output import Format, FormatOption, emit_json, emit_table, out
from controlplane.kernel.clock import to_rfc3339

if TYPE_CHECKING:
    from pathlib import Path

    from controlplane.act.approve import Answer
    from controlplane.model.records import Run
    from controlplane.store.transaction import Transaction

Limit = Annotated[int, typer.Option(help="At most so many, newest first.", min=1, max=1000)]
Active = Annotated[bool, typer.Option("--active", help="Only those that have not ended.")]
RunId = Annotated[str, typer.Argument(help="The run's id.", metavar="RUN")]
Comment = Annotated[str, typer.Option("--comment", help="What you say to it; it is written down.")]
ApprovalId = Annotated[
    str | None, typer.Option("--approval", help="Which decision, when the run waits for more than one.")
]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is written into the run's journal.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    runs_app = typer.Typer(help="Runs of playbooks and drills.", invoke_without_command=True)
    runs_app.callback()(runs)
    runs_app.command("list")(list_runs)
    runs_app.command("show")(show_run)
    runs_app.command("logs")(logs)
    for command in (approve, reject, cancel, retry, undo, pause, continue_):
        runs_app.command(command.__name__.rstrip("_"))(command)
    app.add_typer(runs_app, name="runs")


def runs(
    context: typer.Context,
    state_dir: StateDir = None,
    active: Active = False,
    limit: Limit = 20,
    output: FormatOption = Format.TABLE,
) -> None:
    """List runs, newest first. `fleetward runs show RUN` tells one run's whole story."""
    if context.invoked_subcommand is None:
        list_runs(state_dir, active, limit, output)


def list_runs(
    state_dir: StateDir = None,
    active: Active = False,
    limit: Limit = 20,
    output: FormatOption = Format.TABLE,
) -> None:
    """List runs, newest first."""
    from controlplane.store.runs import RunQuery

    with database(state_dir) as db, db.reading() as tx:
        found = tx.runs.list(RunQuery(active=True if active else None), limit=limit)
    if output is Format.JSON:
        emit_json(found)
        return
    columns = ("run", "kind", "name", "target", "state", "started", "reason")
    rows = [
        (
            *(r.id, r.kind, r.name, r.target, r.state, _time(r.started_at or r.created_at)),
            r.waiting or r.reason,
        )
        for r in found
    ]
    emit_table("Runs", columns, rows, "No run yet.")


def show_run(run: RunId, state_dir: StateDir = None, output: FormatOption = Format.TABLE) -> None:
    """Tell one run's story: steps, attempts, journal, and what was taken back."""
    with database(state_dir) as db, db.reading() as tx:
        found = tx.runs.get(run)
        story: dict[str, Any] = {
            "run": found,
            "steps": tx.steps.list(run),
            "attempts": tx.steps.attempts(run),
            "journal": tx.journal.list(run),
            "undo": tx.undo.list(run),
            "approvals": tx.approvals.list(run=run),
        }
    if output is Format.JSON:
        emit_json(story)
        return
    out.print(f"{found.id}  {found.kind} {found.name}  {found.state}  {found.target or ''}  {found.reason}")
    if found.waiting:
        out.print(f"waits: {found.waiting}", markup=False)
    steps = [(s.position, s.id, s.uses, s.state, s.attempt, s.error) for s in story["steps"]]
    emit_table("Steps", ("#", "step", "uses", "state", "attempts", "error"), steps, "No step.")
    _journal(story["journal"])
    asked = [
        (a.id, a.step or "(run)", a.text, _time(a.expires_at), a.decision or "waits", a.decided_by, a.comment)
        for a in story["approvals"]
    ]
    if asked:
        columns = ("approval", "step", "asks", "until", "decision", "by", "comment")
        emit_table("Approvals", columns, asked, "")
    undo = [(u.step, u.target, u.field, u.before, u.applied, u.status, u.detail) for u in story["undo"]]
    emit_table(
        "Undo", ("step", "target", "field", "before", "applied", "status", "detail"), undo, "Nothing to undo."
    )


def logs(
    run: RunId,
    state_dir: StateDir = None,
    step: Annotated[str | None, typer.Option(help="Only the lines of this step.")] = None,
    after: Annotated[int, typer.Option(help="Only lines with a larger id: what is new.", min=0)] = 0,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show a run's journal: what happened, in order, and why."""
    with database(state_dir) as db, db.reading() as tx:
        tx.runs.get(run)
        lines = [line for line in tx.journal.list(run, after=after) if step in {None, line.step}]
    if output is Format.JSON:
        emit_json(lines)
        return
    _journal(lines)


def approve(
    run: RunId,
    state_dir: StateDir = None,
    comment: Comment = "",
    approval: ApprovalId = None,
    as_: As = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Let a run that waits for people start, or go on; whoever started it may not."""
    _decide(state_dir, output, run, "approved", comment, approval, as_)


def reject(
    run: RunId,
    state_dir: StateDir = None,
    comment: Comment = "",
    approval: ApprovalId = None,
    as_: As = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Refuse what a run asks: it is cancelled, or the step that asks fails."""
    _decide(state_dir, output, run, "rejected", comment, approval, as_)


def _decide(
    state_dir: Path | None,
    output: Format,
    run: str,
    answer: Answer,
    comment: str,
    approval: str | None,
    as_: str | None,
) -> None:
    """Decide on the database, where everybody may do everything, except approve what they started."""
    from controlplane.act.approve import decide_approval, waiting_approval
    from controlplane.model.identity import Role

    with database(state_dir) as db, db.transaction() as tx:
        asked = waiting_approval(tx, run, approval)
        found = decide_approval(tx, asked, answer, by=who(as_), role=Role.ADMIN, comment=comment)
    if output is Format.JSON:
        emit_json(found)
        return
    out.print(f"{found.id} of {run} is {found.decision} by {found.decided_by}.", markup=False)


def cancel(
    run: RunId,
    state_dir: StateDir = None,
    reason: Reason = "",
    keep: Annotated[bool, typer.Option("--keep", help="Leave what it did; a drill never does.")] = False,
    as_: As = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """End a run before its time, and take back what it did."""
    from controlplane.act.cancel import cancel_run

    def change(tx: Transaction) -> Run:
        return cancel_run(tx, run, by=who(as_), reason=reason, undo=not keep)

    _do(state_dir, output, change, "is asked to stop")


def retry(
    run: RunId,
    state_dir: StateDir = None,
    reason: Reason = "",
    as_: As = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Start a run that goes on where this one failed, with what the earlier steps yielded."""
    from controlplane.act.retry import retry_run

    _do(state_dir, output, lambda tx: retry_run(tx, run, by=who(as_), reason=reason), f"retries {run}")


def undo(
    run: RunId,
    state_dir: StateDir = None,
    reason: Reason = "",
    as_: As = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Start a run that takes back what an ended one did, where that still stands as it left it."""
    from controlplane.act.take_back import undo_run

    _do(state_dir, output, lambda tx: undo_run(tx, run, by=who(as_), reason=reason), f"takes back {run}")


def pause(
    run: RunId,
    state_dir: StateDir = None,
    reason: Reason = "",
    as_: As = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Keep a run from starting its next step, until `fleetward runs continue RUN`."""
    from controlplane.act.pause import pause_run

    _do(state_dir, output, lambda tx: pause_run(tx, run, by=who(as_), reason=reason), "is paused")


def continue_(
    run: RunId,
    state_dir: StateDir = None,
    reason: Reason = "",
    as_: As = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Let a paused run go on."""
    from controlplane.act.pause import continue_run

    _do(state_dir, output, lambda tx: continue_run(tx, run, by=who(as_), reason=reason), "goes on")


def _do(state_dir: Path | None, output: Format, change: Callable[[Transaction], Run], what: str) -> None:
    """Change a run in one transaction, and say what it is now; the next sweep wakes the workers."""
    with database(state_dir) as db, db.transaction() as tx:
        found = change(tx)
    if output is Format.JSON:
        emit_json(found)
        return
    out.print(f"{found.id} ({found.name}) {what}. It is {found.state}.", markup=False, soft_wrap=True)
    out.print(f"Look with: fleetward runs show {found.id}", markup=False)


def _journal(lines: Any) -> None:
    rows = [(_time(line.at), line.step or "", line.event, line.message) for line in lines]
    emit_table("Journal", ("at", "step", "event", "message"), rows, "Nothing was written down.")


def _time(at: datetime | None) -> str:
    return "" if at is None else to_rfc3339(at)
