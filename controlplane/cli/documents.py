"""``fleetward validate`` and ``fleetward apply``: from YAML files to what the loop runs on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli.context import StateDir, database
from controlplane.cli.output import Exit, Format, FormatOption, emit_json, emit_table, out
from controlplane.kernel.errors import InvalidInput, Problem
from controlplane.model.base import MODES, Mode

Files = Annotated[list[Path], typer.Argument(help="YAML files, or folders of them.", exists=True)]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("validate")(validate)
    app.command("apply")(apply)


def validate(files: Files, output: FormatOption = Format.TABLE) -> None:
    """Check playbooks, their tests, SLOs, services, policies and drills; report every mistake with its place.

    Exit code 1 if there is any; warnings are told, and are none. With -o json: a list of
    {"file","line","column","path","message","suggestion","code","severity"}.
    """
    from controlplane.bootstrap.documents import load_files

    bundle = load_files(files, tests=True)
    something([*bundle.documents, *bundle.problems], "document")
    problems = bundle.findings
    if output is Format.JSON:
        emit_json([as_dict(problem) for problem in problems])
    else:
        for problem in problems:
            out.print(str(problem), markup=False, soft_wrap=True)
        what = f"{len(bundle.documents)} documents, {_count(problems)}"
        out.print(what)
    if bundle.problems:
        raise typer.Exit(Exit.FAILED)


def apply(
    files: Files,
    state_dir: StateDir = None,
    mode: Annotated[
        str | None, typer.Option(help=f"Make the policy's mode this: {', '.join(MODES)}.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Load files into the control plane. Invalid ones change nothing: the last good revisions stay."""
    from controlplane.bootstrap.documents import apply_bundle, load_files

    bundle = load_files(files)
    something([*bundle.documents, *bundle.problems], "document")
    chosen = next((known for known in MODES if known == mode), None)
    if mode is not None and chosen is None:
        message = f"unknown mode `{mode}`"
        raise typer.BadParameter(message + f"; valid: {', '.join(MODES)}")
    with database(state_dir) as db:
        revisions = apply_bundle(db, bundle, mode=_mode(chosen))
    if output is Format.JSON:
        emit_json([{"kind": r.kind, "name": r.name, "sha256": r.sha256} for r in revisions])
        return
    emit_table(
        "Applied",
        ("kind", "name", "revision"),
        [(r.kind, r.name, r.sha256[:12]) for r in revisions],
        "Nothing.",
    )


def something(found: Sequence[object], what: str) -> None:
    """Refuse to call it good when nothing was looked at: a wrong path must not pass for a check."""
    if not found:
        msg = f"no {what} is there"
        raise InvalidInput(
            msg, hint="give files that hold something, or folders of *.yaml that are not hidden"
        )


def _mode(chosen: Mode | None) -> Mode | None:
    return chosen


def _count(problems: Sequence[Problem]) -> str:
    return (
        "no problem" if not problems else "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    )


def as_dict(problem: Problem) -> dict[str, object]:
    """Return a mistake as it is written for programs."""
    return {
        name: getattr(problem, name)
        for name in ("file", "line", "column", "path", "message", "suggestion", "code", "severity")
    }
