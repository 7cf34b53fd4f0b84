"""The commands of chaos: run drills and read what they found; see, end and reap faults.

``fleetward chaos revert`` needs the state directory alone: the ledger's file and the fleet's own
process table and sockets. API, Redis, workers and supervisor may all be dead.
"""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controlplane.kernel.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from chaos.drills.ports import DrillPorts
    from controlplane.model.records import FaultRecord, Run
    from controlplane.store.database import Database

drills = typer.Typer(help="Run drills, and read what they found.", no_args_is_help=True)
faults = typer.Typer(help="See, end and reap faults.", no_args_is_help=True)

EXIT = {"passed": 0, "failed": 1, "inconclusive": 3, "aborted": 3}
"""Exit codes of a verdict; 2 is wrong use."""
REVERT_TIMEOUT = 60.0
"""Seconds that `chaos revert` waits for faults to be seen clear."""


class Format(StrEnum):
    """What a command writes."""

    TABLE = "table"
    JSON = "json"


class ReportFormat(StrEnum):
    """The forms of a report."""

    JSON = "json"
    FULL = "full"
    HTML = "html"
    JUNIT = "junit"


StateDir = Annotated[
    Path, typer.Option("--state-dir", envvar="FLEETWARD_STATE_DIR", help="Where the state is kept.")
]
Output = Annotated[Format, typer.Option("--output", "-o", help="`table` for people, `json` for programs.")]
DEFAULT_STATE = Path(".fleetward")


def register(app: typer.Typer) -> None:
    """Add the commands: chaos's entry point in ``fleetward.commands``."""
    app.add_typer(drills, name="drill")
    app.add_typer(faults, name="chaos")


@contextmanager
def opened(state_dir: Path) -> Iterator[tuple[Database, DrillPorts]]:
    """Open the ledger of a state directory, and what its fleet offers to drills."""
    file = state_dir.resolve() / "fleetward.db"
    if not file.exists():
        raise NotFound(f"there is no database at {file}", hint="name the folder with --state-dir")
    from chaos.drills.ports import lab_drill_ports
    from controlplane.kernel.clock import SystemClock
    from controlplane.store.database import Database

    database = Database(f"sqlite:///{file}", SystemClock())
    ports = lab_drill_ports(state_dir.resolve())
    try:
        yield database, ports
    finally:
        ports.evidence.close()
        database.close()


# ── drills ──────────────────────────────────────────────────────────────────────────────────────


@drills.command("run")
def run_drill(
    name: Annotated[str, typer.Argument(help="A drill's name, or a YAML file.")],
    state_dir: StateDir = DEFAULT_STATE,
    wait: Annotated[bool, typer.Option(help="Wait for the verdict; the exit code tells it.")] = True,
    output: Output = Format.TABLE,
) -> None:
    """Start a drill, wait for its verdict, and write its result."""
    from chaos.drills.compile import start_drill
    from chaos.drills.conclude import conclude_cut_short
    from chaos.drills.library import find_drill

    with opened(state_dir) as (database, ports):
        with database.transaction() as tx:
            drill = find_drill(tx, name)
            run = start_drill(tx, drill, ports, started_by=f"cli:{_who()}")
        if not wait:
            _write(output, {"run": run.id, "drill": run.name, "state": run.state.value})
            return
        if output is Format.TABLE:
            typer.echo(f"{run.name} runs as {run.id}; Ctrl-C leaves it running, `fleetward halt` stops it")
        ended = _wait(database, run.id, quiet=output is Format.JSON)
        if not ended.result.get("verdict"):
            conclude_cut_short(database, ports, run.id)
            ended = _read(database, run.id)
        _write(output, ended.result)
        raise typer.Exit(EXIT.get(str(ended.result.get("verdict")), 3))


@drills.command("list")
def list_drills(state_dir: StateDir = DEFAULT_STATE, output: Output = Format.TABLE) -> None:
    """List the runs of drills, newest first."""
    from controlplane.store.runs import RunQuery

    with opened(state_dir) as (database, _), database.reading() as tx:
        runs = tx.runs.list(RunQuery(kind="drill"))
    rows = [
        {
            "run": run.id,
            "drill": run.name,
            "state": run.state.value,
            "verdict": run.result.get("verdict"),
            "timeToMitigate": run.result.get("timeToMitigate"),
            "started": run.created_at.isoformat(timespec="seconds"),
        }
        for run in runs
    ]
    _rows(output, rows, "No drill has run yet.")


@drills.command("catalog")
def list_catalog(state_dir: StateDir = DEFAULT_STATE, output: Output = Format.TABLE) -> None:
    """List the drills that can be run by name: those that are shipped, and those in force here."""
    from chaos.drills.library import known_drills

    if (state_dir / "fleetward.db").exists():
        with opened(state_dir) as (database, _), database.reading() as tx:
            known = known_drills(tx)
    else:
        known = known_drills()
    rows = [
        {"drill": one.name, "service": one.spec.service, "does": one.spec.method, "purpose": one.spec.purpose}
        for one in known.values()
    ]
    _rows(output, rows, "No drill is known.")


@drills.command("report")
def show_report(
    run: Annotated[str, typer.Argument(help="The id of a drill's run.")],
    state_dir: StateDir = DEFAULT_STATE,
    output: Annotated[
        ReportFormat, typer.Option("--output", "-o", help="json: the result; full: all; html; junit.")
    ] = ReportFormat.JSON,
) -> None:
    """Write what a drill found to standard output."""
    from chaos.drills.case import load_case
    from chaos.drills.conclude import conclude_cut_short
    from controlplane.model.report import StoredReport, report_name
    from controlplane.model.states import is_final

    with opened(state_dir) as (database, ports):
        found = load_case(database, ports, run).run
        if is_final(found.state) and not found.result.get("verdict"):
            conclude_cut_short(database, ports, run)
        with database.reading() as tx:
            found, body = tx.runs.get(run), tx.snapshots.get(report_name(run))
    if body is None:
        raise NotFound(f"{run} has no report yet: it is {found.state}")
    stored = StoredReport.model_validate(body)
    match output:
        case ReportFormat.JSON:
            typer.echo(json.dumps(found.result, indent=2))
        case ReportFormat.FULL:
            typer.echo(stored.report.model_dump_json(by_alias=True, indent=2))
        case ReportFormat.HTML:
            typer.echo(stored.html)
        case ReportFormat.JUNIT:
            typer.echo(stored.junit)


# ── faults ──────────────────────────────────────────────────────────────────────────────────────


@faults.command("faults")
def list_faults(
    state_dir: StateDir = DEFAULT_STATE,
    everything: Annotated[bool, typer.Option("--all", help="Those that are clear too.")] = False,
    output: Output = Format.TABLE,
) -> None:
    """List the faults that stand."""
    with opened(state_dir) as (database, _), database.reading() as tx:
        found = tx.faults.list(open=None if everything else True)
    _rows(output, [_fault_row(fault) for fault in found], "No fault stands.")


@faults.command("revert")
def revert_faults(
    fault: Annotated[str | None, typer.Argument(help="One fault's id.")] = None,
    state_dir: StateDir = DEFAULT_STATE,
    everything: Annotated[bool, typer.Option("--all", help="Every fault that stands.")] = False,
    drill: Annotated[str | None, typer.Option(help="Every fault of this drill's run.")] = None,
    output: Output = Format.TABLE,
) -> None:
    """Take faults back and wait until they are seen clear; needs nothing but the state directory."""
    from controlplane.model.states import FaultState

    if [fault is not None, everything, drill is not None].count(True) != 1:
        raise InvalidInput("name one fault, or --drill RUN, or --all")
    with opened(state_dir) as (database, ports):
        with database.reading() as tx:
            named = [tx.faults.get(fault)] if fault is not None else tx.faults.list(run=drill, open=True)
        after = _revert(database, ports, named, f"reverted by cli:{_who()}")
    _rows(output, [_fault_row(one) for one in after], "No fault stands.")
    if any(one.state is not FaultState.VERIFIED_CLEAR for one in after):
        raise typer.Exit(1)


@faults.command("reaper")
def run_reaper(state_dir: StateDir = DEFAULT_STATE) -> None:
    """End faults that outlive their drill, until told to stop."""
    from chaos.faults.life import FaultLife
    from chaos.reaper import Reaper, serve

    with opened(state_dir) as (database, ports):
        serve(Reaper(database, FaultLife(database, ports.faults, ports.driver)))


def _revert(
    database: Database, ports: DrillPorts, named: Sequence[FaultRecord], why: str
) -> list[FaultRecord]:
    """Revert until all are clear, one is stuck for good, or the time is over."""
    from chaos.faults.life import FaultLife
    from controlplane.model.states import FaultState

    life = FaultLife(database, ports.faults, ports.driver)
    clock, after = database.clock, list(named)
    deadline = clock.monotonic() + REVERT_TIMEOUT
    while after:
        after = [life.revert(one.id, why) for one in after]
        clear = all(one.state is FaultState.VERIFIED_CLEAR for one in after)
        if clear or clock.monotonic() >= deadline:
            break
        clock.sleep(1.0)
    return after


def _wait(database: Database, run_id: str, *, quiet: bool) -> Run:
    """Follow a run to its end, telling each step as it begins."""
    from controlplane.model.states import is_final

    told = ""
    while True:
        run = _read(database, run_id)
        with database.reading() as tx:
            now = next(
                (step.id for step in tx.steps.list(run_id) if step.state in {"running", "waiting"}), ""
            )
        if now and now != told and not quiet:
            typer.echo(f"  {now}")
            told = now
        if is_final(run.state):
            return run
        database.clock.sleep(1.0)


def _read(database: Database, run_id: str) -> Run:
    with database.reading() as tx:
        return tx.runs.get(run_id)


def _fault_row(fault: FaultRecord) -> dict[str, Any]:
    return {
        "fault": fault.id,
        "kind": fault.kind,
        "targets": ", ".join(fault.targets),
        "state": fault.state.value,
        "expires": fault.expires_at.isoformat(timespec="seconds"),
        "detail": fault.detail,
    }


def _write(output: Format, value: dict[str, Any]) -> None:
    if output is Format.JSON:
        typer.echo(json.dumps(value, indent=2))
        return
    for name, item in value.items():
        typer.echo(f"{name:20} {'; '.join(map(str, item)) if isinstance(item, list) else item}")


def _rows(output: Format, rows: Sequence[dict[str, Any]], empty: str) -> None:
    if output is Format.JSON:
        typer.echo(json.dumps(list(rows), indent=2))
        return
    if not rows:
        typer.echo(empty)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in rows[0]:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*("" if item is None else str(item) for item in row.values()))
    Console(highlight=False).print(table)


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
