"""``fleetward playbook``: what people do with playbooks beside loading them."""

from __future__ import annotations

import gc
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli import authoring, byhand, logs
from controlplane.cli.loading import loading
from controlplane.cli.output import Exit, emit_json, err, out
from controlplane.kernel.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from controlplane.model.rehearsal import CaseResult
    from controlplane.rehearsal.suite import Suite

HELP = "Work with playbooks: write them, test them offline, look at what they would do, run them by hand."


class TestFormat(StrEnum):
    """What `playbook test` writes."""

    TABLE = "table"
    JSON = "json"
    JUNIT = "junit"


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help=HELP, no_args_is_help=True)
    group.command("test")(run_tests)
    group.command("plan")(byhand.plan)
    group.command("run")(byhand.run)
    authoring.add_to(group)
    app.add_typer(group, name="playbook")


def run_tests(
    paths: Annotated[
        list[Path], typer.Argument(help="Folders, or single *.test.yaml files or playbooks.", exists=True)
    ],
    name: Annotated[
        str, typer.Option("--name", "-k", help="Only cases whose playbook or name contains this.")
    ] = "",
    output: Annotated[
        TestFormat,
        typer.Option("--output", "-o", help="`table` for people, `json` for programs, `junit` for CI."),
    ] = TestFormat.TABLE,
) -> None:
    """Run playbooks' tests on a fleet in memory: no service is needed, and none is touched.

    Exit code 0 when all passed, 1 when one failed or a file is not valid, 2 when there is nothing
    to run.
    """
    with loading():
        from controlplane.bootstrap.documents import action_registry
        from controlplane.rehearsal.report import junit, rehearse

    logs.quiet()
    clock = SystemClock()
    began = clock.monotonic()
    with loading():
        suites, actions = _suites(paths), action_registry()
    gc.freeze()  # the processes that play share it as it is
    results = rehearse(suites, actions, name)
    if not results:
        err.print("fleetward: no test matches" if name else "fleetward: no test is there", style="yellow")
        raise typer.Exit(Exit.MISUSE)
    failed = [result for result in results if not result.passed]
    seconds = clock.monotonic() - began
    if output is TestFormat.JSON:
        emit_json(
            {
                "passed": len(results) - len(failed),
                "failed": len(failed),
                "seconds": round(seconds, 3),
                "cases": [result.model_dump(mode="json", by_alias=True) for result in results],
            }
        )
    elif output is TestFormat.JUNIT:
        typer.echo(junit(results), nl=False)
    else:
        _tell(results, len(failed), seconds)
    if failed:
        raise typer.Exit(Exit.FAILED)


def _suites(paths: Sequence[Path]) -> list[Suite]:
    """Load each path by itself, so that two folders may each have a playbook of one name."""
    from controlplane.bootstrap.documents import load_files
    from controlplane.kernel.errors import InvalidDocuments
    from controlplane.rehearsal.suite import suites

    found: list[Suite] = []
    problems = []
    for path in paths:
        bundle = load_files([path] if path.is_dir() else sorted(path.parent.glob("*.y*ml")), tests=True)
        loaded = suites(bundle)
        if not path.is_dir():
            loaded = [suite for suite in loaded if str(path) in suite.files]
            files = {str(path), *(file for suite in loaded for file in suite.files)}
            bundle.problems[:] = [each for each in bundle.problems if each.file in files]
        problems += bundle.problems
        found += loaded
    if problems:
        raise InvalidDocuments(sorted(set(problems), key=lambda p: (p.file, p.line, p.column)))
    return found


def _tell(results: Sequence[CaseResult], failed: int, seconds: float) -> None:
    """Write a line per case, and under one that failed the difference."""
    for result in results:
        sign, style = ("passed", "green") if result.passed else ("FAILED", "bold red")
        out.print(sign, style=style, end="  ")
        out.print(f"{result.playbook}: {result.name}", markup=False, soft_wrap=True)
        if result.passed:
            continue
        out.print(f"        {result.file}:{result.line}", style="dim", markup=False, soft_wrap=True)
        if result.error:
            out.print(f"        {result.error}", style="red", markup=False, soft_wrap=True)
            continue
        out.print("        - expected, + what came of it", style="dim", markup=False)
        for line in result.difference:
            out.print(f"      {line}", style=_STYLES[line[0]], markup=False, soft_wrap=True)
        out.print(f"        {result.why}", style="yellow", markup=False, soft_wrap=True)
    total = f"{len(results) - failed} passed" + (f", {failed} failed" if failed else "")
    out.print(f"{total} in {seconds:.2f} s", style="bold red" if failed else "bold green")


_STYLES = {" ": "", "-": "red", "+": "green"}
