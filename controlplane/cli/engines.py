"""``fleetward engines``: which engine a /metrics text is from, and which indicators it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli import given
from controlplane.cli.output import Exit, Format, FormatOption, emit_json, emit_table, err, out
from controlplane.kernel.clock import SystemClock
from controlplane.kernel.errors import InvalidInput

if TYPE_CHECKING:
    from controlplane.observe.grading import Graded
    from controlplane.observe.recognise import Report

LONGEST = 3600.0
"""Seconds: no objective of a request is longer than an hour."""

HELP = "Look at engines from outside: what they export, and what can be known of them by it."


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help=HELP, no_args_is_help=True)
    group.command("check")(check)
    app.add_typer(group, name="engines")


def check(
    where: Annotated[
        str,
        typer.Argument(
            help="A saved /metrics text, or an engine's address (http://host:8000/metrics).",
            metavar="FILE|URL",
        ),
    ],
    ttft: Annotated[str, typer.Option("--ttft", help="The objective for the first token, e.g. 1s.")] = "1s",
    tpot: Annotated[str, typer.Option("--tpot", help="The objective for each token after it.")] = "50ms",
    output: FormatOption = Format.TABLE,
) -> None:
    """Tell which engine and release a /metrics text looks like, and how well it gives each indicator.

    `exact`, `bounded` (with which bound and why) or `unavailable` (with the reason), and the series that
    would be read. Nothing is stored and nothing is changed; no service has to run.

    Exit code 0 when it is an engine, or an exporter, that is known here; 1 when it is not, or when it is
    no text of metrics; 2 when it cannot be read at all.
    """
    from controlplane.model.service import Objectives
    from controlplane.observe.exposition import decode, parse
    from controlplane.observe.fetch import fetch
    from controlplane.observe.profile import shipped
    from controlplane.observe.recognise import examine

    objectives = Objectives.model_construct(
        ttft=given.duration(ttft, "--ttft", most=LONGEST), tpot=given.duration(tpot, "--tpot", most=LONGEST)
    )
    content = fetch(where, SystemClock())
    try:
        exposition = parse(decode(content, where), where)
    except InvalidInput as error:
        err.print(f"fleetward: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(Exit.FAILED) from None
    report = examine(exposition, where, shipped(), objectives)
    for line in report.broken:
        err.print(f"left out, {line}", style="yellow", markup=False, soft_wrap=True)
    if output is Format.JSON:
        emit_json(report)
    else:
        _show(report)
    if report.recognised.kind == "unknown":
        raise typer.Exit(Exit.FAILED)


def _show(report: Report) -> None:
    found = report.recognised
    release = f" {found.generation}" if found.generation else ""
    unseen = ", a release that is not known here" if found.kind == "engine" and not found.generation else ""
    out.print(f"{report.where}: {found.title}{release}{unseen} ({found.sure})", markup=False, soft_wrap=True)
    out.print(f"  {'; '.join(found.because)}", markup=False, soft_wrap=True)
    out.print(f"  {report.families} families, {report.samples} samples", markup=False)
    rows = [(row.indicator, _grade(row), "\n".join(_says(row))) for row in report.indicators]
    emit_table("", ("indicator", "grade", "from, or why not"), rows, "")
    counts = {grade: sum(row.grade == grade for row in report.indicators) for grade in _GRADES}
    out.print(", ".join(f"{count} {grade}" for grade, count in counts.items()))


_GRADES = ("exact", "bounded", "unavailable")


def _grade(row: Graded) -> str:
    return f"{row.grade} ({row.bound})" if row.bound else row.grade


def _says(row: Graded) -> list[str]:
    lines = [", ".join(row.series)] if row.series else [row.reason]
    lines += [row.why] if row.why else []
    lines += row.notes
    lines += [f"needs {need}" for need in row.needs]
    if row.with_ is not None and row.with_.sources:
        lines.append(f"{row.with_.grade} with {', '.join(row.with_.sources)}")
    return lines
