"""``python -m controlplane.bench``: the engine's speed and what waiting runs cost, beside their bounds."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from controlplane.bench import engine, waiting

MIN_SHARE = 0.4
MAX_CORE = 0.05


def bench(
    runs: Annotated[
        int, typer.Option(help="Runs of a five-step playbook; 0 leaves the measurement out.")
    ] = 200,
    noops: Annotated[int, typer.Option(help="Tasks of the peer that does nothing.")] = 2000,
    wait: Annotated[int, typer.Option(help="Runs that wait; 0 leaves the measurement out.")] = 1000,
    watch: Annotated[
        float, typer.Option(help="Seconds that they are watched for, and as many without.")
    ] = 30.0,
) -> None:
    """Measure on a real Redis and a database on disk, in two minutes; ends with 1 when a bound is missed."""
    table = Table("figure", "measured", "bound", "within")
    kept = True
    with tempfile.TemporaryDirectory(prefix="fleetward-bench-") as folder:
        if runs:
            kept &= _throughput(table, engine.measure(Path(folder), runs, noops))
        if wait:
            kept &= _cost(table, waiting.measure(Path(folder), wait, watch))
    Console(highlight=False).print(table)
    if not kept:
        raise typer.Exit(1)


def _throughput(table: Table, found: engine.Throughput) -> bool:
    kept = found.share >= MIN_SHARE
    table.add_row("engine: steps a second (SQLite, one worker)", f"{found.steps:.0f}", "", "")
    table.add_row("engine: steps a message", f"{found.steps_per_message:.1f}", "", "")
    table.add_row("bare Celery: no-op tasks a second, same broker", f"{found.noops:.0f}", "", "")
    bound = f"at least {MIN_SHARE}"
    table.add_row("engine's share of its peer", f"{found.share:.2f}", bound, "yes" if kept else "NO")
    return kept


def _cost(table: Table, found: waiting.Waiting) -> bool:
    kept = found.cost < MAX_CORE
    for words, shares in (("at rest", found.idle), (f"{found.runs} runs wait", found.busy)):
        table.add_row(f"of a core, {words}: {_each(shares)}", f"{sum(shares.values()):.1%}", "", "")
    bound = f"under {MAX_CORE:.0%}"
    words = f"what {found.runs} waiting runs cost: controller, worker, Redis"
    table.add_row(words, f"{found.cost:.1%} of a core", bound, "yes" if kept else "NO")
    return kept


def _each(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {share:.1%}" for name, share in shares.items())


if __name__ == "__main__":
    typer.run(bench)
