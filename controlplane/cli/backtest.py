"""``fleetward backtest``: what would have fired over recorded metrics, and what would have been done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli import backtest_view, given, logs
from controlplane.cli.context import StateDir, load_settings
from controlplane.cli.output import Exit, Format, FormatOption, emit_json, err
from controlplane.kernel.clock import SystemClock, to_rfc3339
from controlplane.kernel.errors import InvalidInput
from controlplane.model.base import MODES, Mode

if TYPE_CHECKING:
    from controlplane.backtest.replay import Progress
    from controlplane.backtest.span import Span

Files = Annotated[list[Path], typer.Argument(help="YAML files, or folders of them.", exists=True)]

LEAST_OBSERVED = 0.5
"""Share of the looks at which there must have been sight, for an answer to be one."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("backtest")(backtest)


def backtest(
    files: Files,
    prometheus: Annotated[
        str | None,
        typer.Option(help="The Prometheus that holds the past; without it, the control plane's own."),
    ] = None,
    from_: Annotated[
        str | None, typer.Option("--from", help="Begin of the span, 2026-11-20T00:00:00Z or 2026-11-20.")
    ] = None,
    to: Annotated[str | None, typer.Option("--to", help="End of the span; without it, now.")] = None,
    since: Annotated[
        str | None, typer.Option(help="In place of --from: so long before the end, 30d.")
    ] = None,
    mode: Annotated[
        str | None, typer.Option(help=f"Stand in for the policy's mode: {', '.join(MODES)}.")
    ] = None,
    state_dir: StateDir = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Play documents over recorded metrics: what would have fired, when and why, and what it would have done.

    FILES hold a Service, its SLOs, playbooks and perhaps a Policy. The loop's own code looks at each scrape
    of the span on a virtual clock; runs are drawn and not executed, nothing is written anywhere. Progress
    goes to standard error. Without --from and --since it is the last day.

    Exit code 0 when it was played, whatever it found; 1 when a file is wrong; 2 when there is nothing to be
    read; 3 when there was no sight for half of the time or more.
    """
    from controlplane.backtest.replay import Backtest, Order
    from controlplane.bootstrap.documents import action_registry, load_files
    from controlplane.observe.archive import PrometheusArchive

    logs.quiet()
    clock = SystemClock()
    span = _span(from_, to, since, clock.now())
    bundle = load_files(files).raise_problems()
    url = prometheus or load_settings(state_dir).prometheus
    archive = PrometheusArchive(url, clock)
    try:
        test = Backtest(archive, Order(bundle, span, url, _mode(mode)), action_registry())
        with _progress(span) as tell:
            report = test.run(tell)
    finally:
        archive.close()
    if output is Format.JSON:
        emit_json(report)
    else:
        backtest_view.show(report)
    if report.observed < LEAST_OBSERVED:
        err.print(f"there was sight for {report.observed:.0%} of the time only", style="yellow", markup=False)
        raise typer.Exit(Exit.INCONCLUSIVE)


def _span(from_: str | None, to: str | None, since: str | None, now: datetime) -> Span:
    from controlplane.backtest.span import Span

    if from_ is not None and since is not None:
        msg = "give either --from or --since"
        raise InvalidInput(msg)
    until = given.moment(to, "--to") if to is not None else now
    if from_ is not None:
        return Span.of(given.moment(from_, "--from"), until, now)
    seconds = given.duration(since or "1d", "--since", least=60.0)
    return Span.of(given.before(until, seconds, "--since"), until, now)


def _mode(name: str | None) -> Mode | None:
    chosen = next((known for known in MODES if known == name), None)
    if name is not None and chosen is None:
        message = f"unknown mode `{name}`; valid: {', '.join(MODES)}"
        raise typer.BadParameter(message)
    return chosen


@contextmanager
def _progress(span: Span) -> Iterator[Progress]:
    """Show on standard error how far it is: a bar for a person, a line for each tenth otherwise."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    whole, told = span.end - span.start, 0
    if err.is_terminal:
        text = TextColumn("{task.description}")
        with Progress(text, BarColumn(), TimeRemainingColumn(), console=err, transient=True) as bar:
            task = bar.add_task("reading", total=whole)
            yield lambda at: bar.update(
                task, completed=at.timestamp() - span.start, description=f"{at:%Y-%m-%d %H:%M}"
            )
        return

    def tell(at: datetime) -> None:
        nonlocal told
        tenths = int(10 * (at.timestamp() - span.start) / whole)
        if tenths > told:
            told = tenths
            err.print(f"backtest: {10 * tenths} %, {to_rfc3339(at)}", markup=False)

    yield tell
