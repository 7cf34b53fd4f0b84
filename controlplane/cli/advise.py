"""``fleetward advise``: what the field knows to do about a service's indicators, and what its metrics say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli.context import StateDir, database
from controlplane.cli.output import Format, FormatOption, emit_json, out
from controlplane.kernel.clock import to_rfc3339

if TYPE_CHECKING:
    from controlplane.model.advice import Advice, IndicatorAdvice, LeverAdvice, Said

_MARKS = {"for": "+", "against": "-", "mixed": "±", "open": " ", "unknown": "?"}
_HOLDS = {"yes": "holds", "no": "does not hold", "unknown": "unknown"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("advise")(advise)


def advise(
    service: Annotated[str, typer.Argument(help="The Service's name.")],
    everything: Annotated[
        bool, typer.Option("--all", help="Also indicators that are on their targets, or have none.")
    ] = False,
    state_dir: StateDir = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Tell for each indicator that is off its target which levers there are, and what speaks for each.

    An SLO says what is off; where there is none, a bound that the field has. Each lever has rules that
    compare what is measured of this service; `?` is one that is not measured. With -o json everything is
    printed.
    """
    from controlplane.bootstrap.advice import advice_on

    with database(state_dir) as db, db.reading() as tx:
        found = advice_on(tx, service)
    if output is Format.JSON:
        emit_json(found)
        return
    _show(found, everything=everything)


def _show(found: Advice, *, everything: bool) -> None:
    if found.evaluated_at is None:
        out.print("No controller has looked at it yet: nothing is measured.")
    else:
        out.print(f"{found.service}, as of {to_rfc3339(found.evaluated_at)}", markup=False)
    shown = [each for each in found.indicators if everything or each.status == "off"]
    for each in shown:
        _indicator(each)
    dark = [each.name for each in found.indicators if each.status == "unknown"]
    if not shown and len(dark) < len(found.indicators):
        measured = " that is measured" if dark else ""
        out.print(f"No indicator{measured} is off its target.")
    if dark and not everything:
        out.print(f"Not measured: {', '.join(dark)}", style="dim", markup=False, soft_wrap=True)


def _indicator(found: IndicatorAdvice) -> None:
    value = "not known" if found.value is None else f"{found.value:.4g} {found.unit}"
    out.print(f"\n{found.name} is {found.status}: {value}; {found.target}", style="bold", markup=False)
    for lever in found.levers:
        _lever(lever)


def _lever(lever: LeverAdvice) -> None:
    pull = f"playbook {lever.playbook}" if lever.playbook else lever.by_hand
    if lever.playbook and not lever.loaded:
        pull += " (not in force here)"
    out.print(f"  {_MARKS[lever.verdict]} {lever.title}: {lever.does}", markup=False, soft_wrap=True)
    out.print(f"      {pull}", style="dim", markup=False, soft_wrap=True)
    for said in lever.said:
        if said.holds == "yes" or lever.verdict == "unknown":
            out.print(f"      {_rule(said)}", markup=False, soft_wrap=True)


def _rule(said: Said) -> str:
    measured = ", ".join(
        f"{name} {'?' if value is None else f'{value:.3g}'}" for name, value in said.measured.items()
    )
    return f"{said.says}, {_HOLDS[said.holds]}: {said.why} ({measured})"
