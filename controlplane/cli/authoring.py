"""``fleetward playbook new``, ``lint`` and ``fmt``: what an author does before a playbook is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli.documents import as_dict, something
from controlplane.cli.output import Exit, Format, FormatOption, emit_json, err, out
from controlplane.kernel.errors import FleetwardError, InvalidInput

Paths = Annotated[list[Path], typer.Argument(help="YAML files, or folders of them.", exists=True)]


def add_to(group: typer.Typer) -> None:
    """Add the commands to the group ``fleetward playbook``."""
    group.command("new")(new)
    group.command("lint")(lint)
    group.command("fmt")(fmt)


def new(
    name: Annotated[str, typer.Argument(help="The playbook's name: lower case letters, digits, dashes.")],
    directory: Annotated[Path, typer.Option("--directory", "-d", help="Where the two files go.")] = Path(),
) -> None:
    """Write a playbook to begin with, each part explained, and its test. Nothing is overwritten."""
    from controlplane.bootstrap.skeleton import skeleton

    files = {directory / file: text for file, text in skeleton(name).items()}
    there = [str(file) for file in files if file.exists()]
    if there:
        msg = f"{there[0]} is there already"
        raise InvalidInput(msg, hint="choose another name, or another --directory")
    directory.mkdir(parents=True, exist_ok=True)
    for file, text in files.items():
        file.write_text(text, encoding="utf-8")
        out.print(str(file), markup=False, soft_wrap=True)


def lint(
    paths: Paths,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings too make the exit code 1.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Tell what is wrong with playbooks, and what is probably not meant; look at all of a folder together.

    Each check's code is explained in the documentation, docs/reference/checks.md. Exit code 1 if
    something is wrong.
    """
    from controlplane.bootstrap.documents import load_files

    bundle = load_files(paths, tests=True)
    something([*bundle.documents, *bundle.problems], "document")
    found = bundle.findings
    if output is Format.JSON:
        emit_json([as_dict(each) for each in found])
    else:
        for each in found:
            out.print(str(each), markup=False, soft_wrap=True)
        counts = f"{len(bundle.problems)} errors, {len(bundle.warnings)} warnings"
        out.print(f"{len(bundle.documents)} documents, {counts}")
    if bundle.problems or (strict and bundle.warnings):
        raise typer.Exit(Exit.FAILED)


def fmt(
    paths: Paths,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit code 1 if a file would change.")
    ] = False,
) -> None:
    """Bring files into the one layout: order of the envelope, indentation. Comments stay.

    A file that cannot be laid out without changing what it says is left alone, and told.
    """
    from controlplane.bootstrap.documents import read_files
    from controlplane.kernel.tidy import tidy

    texts, problems = read_files(paths, tests=True)
    something([*texts, *problems], "file")
    changed, refused = 0, len(problems)
    for problem in problems:
        err.print(str(problem), style="red", markup=False, soft_wrap=True)
    for name, text in texts:
        try:
            laid_out = tidy(text, name)
        except FleetwardError as error:
            refused += 1
            err.print(str(error), style="red", markup=False, soft_wrap=True)
            continue
        if laid_out != text:
            changed += 1
            out.print(name, markup=False, soft_wrap=True)
            if not check:
                Path(name).write_text(laid_out, encoding="utf-8")
    if refused or (check and changed):
        raise typer.Exit(Exit.FAILED)
