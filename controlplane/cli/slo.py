"""``fleetward slo``: objectives as Prometheus rules, from other tools' files, and how they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from controlplane.cli import given, slo_status
from controlplane.cli.documents import something
from controlplane.cli.output import Exit, Format, FormatOption, emit_json, err

HELP = "Look at service level objectives, and carry them to and from other tools."

Files = Annotated[list[Path], typer.Argument(help="YAML files, or folders of them.", exists=True)]


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help=HELP, no_args_is_help=True)
    group.command("rules")(rules)
    group.command("import")(import_)
    slo_status.add_to(group)
    app.add_typer(group, name="slo")


def rules(files: Files, output: FormatOption = Format.TABLE) -> None:
    """Print Prometheus recording and alerting rules for SLOs: they work without Fleetward.

    Several windows and several burn rates, as the SRE workbook has them; names of series and labels are
    Sloth's, so that dashboards made for it show them. An SLO on an indicator of the library needs its
    Service among the files. What rules cannot say is told on standard error. `-o json` prints the same
    groups as JSON.

    Exit code 1 if a file is wrong, or if an SLO cannot be said in rules at all.
    """
    from controlplane.bootstrap.documents import load_files
    from controlplane.kernel.yaml_out import dump_documents
    from controlplane.model.service import Service
    from controlplane.model.slo import Slo
    from controlplane.observe.profile import shipped
    from controlplane.observe.rules import export

    bundle = load_files(files).raise_problems()
    slos = [slo for slo in bundle.of("SLO").values() if isinstance(slo, Slo)]
    services = {name: each for name, each in bundle.of("Service").items() if isinstance(each, Service)}
    exported = export(slos, services, shipped())
    if output is Format.JSON:
        emit_json({"groups": exported.groups})
    else:
        typer.echo(dump_documents([{"groups": exported.groups}]), nl=False)
    if not slos:
        err.print("there is no SLO in these files", style="yellow", markup=False)
    for note in exported.notes:
        err.print(note, style="yellow", markup=False, soft_wrap=True)
    for refused in exported.refused:
        err.print(refused, style="red", markup=False, soft_wrap=True)
    if exported.refused or not slos:
        raise typer.Exit(Exit.FAILED)


def import_(
    files: Files,
    window: Annotated[
        str, typer.Option("--window", help="The window of formats whose files do not say it (Sloth).")
    ] = "30d",
) -> None:
    """Print objectives of other tools as YAML of ours; tell on standard error what could not be mapped.

    OpenSLO v1, Sloth (prometheus/v1 and the Kubernetes kind), Pyrra (pyrra.dev/v1alpha1) and Prometheus
    rule files; what a file is, it says itself. What is printed passes `fleetward validate`.

    Exit code 1 if anything could not be mapped at all; a detail that is lost is told, and is no failure.
    """
    from controlplane.bootstrap.objectives import import_objectives
    from controlplane.kernel.yaml_out import dump_documents

    seconds = given.duration(window, "--window", least=3600.0, most=366 * 86400.0)
    found = import_objectives(files, seconds)
    something([*found.made, *found.lost, *found.refused], "objective")
    typer.echo(dump_documents(found.made), nl=False)
    for lost in found.lost:
        err.print(str(lost), style="yellow", markup=False, soft_wrap=True)
    for refused in found.refused:
        err.print(str(refused), style="red", markup=False, soft_wrap=True)
    if found.refused or not found.made:
        raise typer.Exit(Exit.FAILED)
