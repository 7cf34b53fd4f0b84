"""``fleetward playbook plan`` and ``run``: what a playbook would do now, and doing it by hand."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli import given
from controlplane.cli.context import As, StateDir, database, load_settings, who
from controlplane.cli.output import Exit, Format, FormatOption, emit_json, emit_table, err, out
from controlplane.kernel.errors import InvalidInput, Refused
from controlplane.model.states import RunState, is_final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from controlplane.model.preview import PlannedStep, PlaybookPlan
    from controlplane.model.records import Run
    from controlplane.store.database import Database

POLL_SECONDS = 0.5

Playbook = Annotated[str, typer.Argument(help="The playbook's name.", metavar="NAME")]
OnTarget = Annotated[
    str, typer.Option("--target", help="Where: service/cluster/zone/node/replica, as far as needed.")
]
Inputs = Annotated[
    list[str] | None, typer.Option("--input", help="An input as NAME=VALUE; may be given several times.")
]


def plan(
    name: Playbook,
    target: OnTarget,
    inputs: Inputs = None,
    state_dir: StateDir = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show what a playbook would do on the live fleet now, and what the guards say. Changes nothing.

    Exit code 0 when it would run, 1 when it would not.
    """
    from controlplane.act.byhand import Ask
    from controlplane.bootstrap.byhand import build_hand

    with database(state_dir) as db:
        hand = build_hand(load_settings(state_dir), db)
        found = hand.plan(Ask(name, target, who(), hand.read_inputs(name, _pairs(inputs or []))))
    if output is Format.JSON:
        emit_json(found)
    else:
        _show(found)
    if found.verdict != "run" or any(step.outlook == "broken" for step in found.steps):
        raise typer.Exit(Exit.FAILED)


def run(
    name: Playbook,
    target: OnTarget,
    inputs: Inputs = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended.")] = False,
    timeout: Annotated[str, typer.Option(help="With --wait: how long, at most.")] = "30m",
    reason: Annotated[str, typer.Option("--reason", help="Why; it is written into the run's journal.")] = "",
    state_dir: StateDir = None,
    as_: As = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Start a playbook by hand. The guards judge it; the mode does not bind what a person starts.

    Exit code 1 when a guard is against it. With --wait: 0 when it succeeded, 1 when it did not, 3 when
    nobody can tell or it has not ended in time.
    """
    from controlplane.act.byhand import Ask
    from controlplane.bootstrap.byhand import build_hand

    seconds = given.duration(timeout, "--timeout")
    with database(state_dir) as db:
        hand = build_hand(load_settings(state_dir), db)
        ask = Ask(name, target, who(as_), hand.read_inputs(name, _pairs(inputs or [])), reason)
        try:
            started = hand.start(ask)
        except Refused as error:
            err.print(f"fleetward: {error}", style="red", markup=False, soft_wrap=True)
            raise typer.Exit(Exit.FAILED) from error
        found = _end_of(db, started, seconds) if wait else started
    if output is Format.JSON:
        emit_json(found)
    else:
        out.print(f"{found.id} ({found.name}) on {found.target} is {found.state}.", markup=False)
        if found.reason:
            out.print(found.reason, markup=False, soft_wrap=True)
        out.print(f"Look with: fleetward runs show {found.id}", markup=False)
    if wait and found.state is not RunState.SUCCEEDED:
        unsure = found.state is RunState.INCONCLUSIVE or not is_final(found.state)
        raise typer.Exit(Exit.INCONCLUSIVE if unsure else Exit.FAILED)


def _pairs(inputs: Sequence[str]) -> dict[str, str]:
    found = {}
    for text in inputs:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            msg = f"--input {text!r} has no value"
            raise InvalidInput(msg, hint="write --input NAME=VALUE")
        found[name.strip()] = value
    return found


def _end_of(db: Database, started: Run, seconds: float) -> Run:
    """Wait for the run's end, or for the time to be over; return it as it is then."""
    end = db.clock.now() + timedelta(seconds=seconds)
    while True:
        with db.reading() as tx:
            found = tx.runs.get(started.id)
        if is_final(found.state) or db.clock.now() >= end:
            return found
        db.clock.sleep(POLL_SECONDS)


def _show(found: PlaybookPlan) -> None:
    words = {"run": "would run", "wait": "would have to wait", "refuse": "is refused"}
    verdict = words.get(found.verdict, "does not apply")
    style = "bold green" if found.verdict == "run" else "bold red"
    out.print(f"{found.playbook} on {found.target} {verdict}: {found.why}", style=style, markup=False)
    emit_table("Steps", ("step", "action", "", "what"), map(_row, found.steps), "No steps.")
    rows = [(each.guard, each.verdict, each.message) for each in found.guards]
    emit_table("Guards", ("guard", "verdict", "because"), rows, "No guard was asked.")
    after = found.capacity
    serve = f"{after.healthy_after} of {after.replicas} replicas serve ({after.share_after:.0%})"
    zones = f"{after.zones_out_after} of {after.zones} zones are out"
    text = f"Afterwards {serve}, now {after.healthy_before}; {zones}. Nothing was changed."
    out.print(text, markup=False, soft_wrap=True)


def _row(step: PlannedStep) -> tuple[str, str, str, str]:
    lines = [f"{each.field} of {each.target}: {each.before} → {each.after}" for each in step.changes]
    lines += [
        f"{each.target} {'returns to' if each.returns else 'loses'} {each.dimension}"
        for each in step.touches
        if each.dimension != "nothing"
    ]
    lines += [step.why] if step.why else []
    return step.id, step.uses, step.outlook, "\n".join(lines or ["changes nothing"])
