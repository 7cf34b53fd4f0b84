"""``python -m chaos.bench``: measure the promises that are figures, and print them beside their bounds."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from chaos.bench import drills, footprint

MAX_CORES = 1.2
MAX_MEGABYTES = 1200.0
MAX_READY = 30.0
MAX_MITIGATION = 20.0
MIN_KEPT = 0.95
MIN_TOKENS = 1000.0
WATCH = 60.0
WARM_UP = 20.0

console = Console(highlight=False)
Rows = list[tuple[str, str, str, bool]]


def bench(
    only: Annotated[list[str] | None, typer.Option(help="footprint, gray or outage; all if unset.")] = None,
    count: Annotated[int, typer.Option("--drills", help="How many gray-zone drills.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the outage's traffic.")] = 1,
) -> None:
    """Measure on real parts; takes about half an hour in full. Ends with 1 when a bound was missed."""
    parts: dict[str, Callable[[Path], Rows]] = {
        "footprint": _footprint,
        "gray": lambda root: _gray(root, count),
        "outage": lambda root: _outage(root, seed),
    }
    rows: Rows = []
    with tempfile.TemporaryDirectory(prefix="fleetward-bench-") as folder:
        for name in only or parts:
            if name not in parts:
                message = f"no benchmark `{name}`; there are {', '.join(parts)}"
                raise typer.BadParameter(message)
            rows += parts[name](Path(folder) / name)
    table = Table("figure", "measured", "bound", "within")
    for figure, measured, bound, within in rows:
        table.add_row(figure, measured, bound, "yes" if within else "NO")
    console.print(table)
    if not all(within for *_, within in rows):
        raise typer.Exit(1)


def _footprint(root: Path) -> Rows:
    running = drills.fleet(root, seed=1)
    began = running.clock.monotonic()
    with running.running(console.print):
        ready = running.clock.monotonic() - began
        running.clock.sleep(WARM_UP)
        before = drills.tokens_served(running)
        uses = footprint.measure(running.table, running.clock, WATCH)
        rate = (drills.tokens_served(running) - before) / WATCH
    table = Table("process", "cores", "MB")
    for use in uses:
        table.add_row(use.name, f"{use.cores:.3f}", f"{use.megabytes:.0f}")
    console.print(table)
    cores, memory = sum(use.cores for use in uses), sum(use.megabytes for use in uses)
    return [
        ("ready after", f"{ready:.1f} s", f"{MAX_READY:.0f} s", ready <= MAX_READY),
        ("output tokens/s while measured", f"{rate:.0f}", f"at least {MIN_TOKENS:.0f}", rate >= MIN_TOKENS),
        (f"cores over {WATCH:.0f} s", f"{cores:.2f}", f"{MAX_CORES}", cores <= MAX_CORES),
        ("memory (PSS)", f"{memory:.0f} MB", f"{MAX_MEGABYTES:.0f} MB", memory <= MAX_MEGABYTES),
    ]


def _gray(root: Path, count: int) -> Rows:
    reports = drills.gray_zones(root, count, console.print)
    times = [
        (report.mitigated_at - report.injected_at).total_seconds()
        if report.mitigated_at and report.injected_at
        else float("inf")
        for report in reports
    ]
    median = statistics.median(times)
    spread = f"{median:.1f} s ({min(times):.1f} to {max(times):.1f})"
    passed = sum(report.verdict == "passed" for report in reports)
    return [
        (
            f"gray zone: injection to no new request, median of {count}",
            spread,
            f"{MAX_MITIGATION:.0f} s",
            median <= MAX_MITIGATION,
        ),
        ("gray zone: drills passed", f"{passed} of {count}", "all", passed == count),
    ]


def _outage(root: Path, seed: int) -> Rows:
    report, kept = drills.lost_zone(root, seed, console.print)
    return [
        (
            "zone outage: effective tokens kept, same seed",
            f"{kept:.1%}",
            f"at least {MIN_KEPT:.0%}",
            kept >= MIN_KEPT,
        ),
        ("zone outage: verdict", report.verdict.value, "passed", report.verdict == "passed"),
    ]


if __name__ == "__main__":
    typer.run(bench)
