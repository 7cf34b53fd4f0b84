"""``python -m controlplane.bench``: print the engine's throughput beside its bound."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from controlplane.bench.engine import measure

MIN_SHARE = 0.4


def bench(
    runs: Annotated[int, typer.Option(help="Runs of a five-step playbook.")] = 200,
    noops: Annotated[int, typer.Option(help="Tasks of the peer that does nothing.")] = 2000,
) -> None:
    """Measure on a real Redis and a database on disk; takes about half a minute."""
    with tempfile.TemporaryDirectory(prefix="fleetward-bench-") as folder:
        found = measure(Path(folder), runs, noops)
    table = Table("figure", "measured", "bound", "within")
    table.add_row("engine: steps a second (SQLite, one worker)", f"{found.steps:.0f}", "", "")
    table.add_row("engine: steps a message", f"{found.steps_per_message:.1f}", "", "")
    table.add_row("bare Celery: no-op tasks a second, same broker", f"{found.noops:.0f}", "", "")
    within = "yes" if found.share >= MIN_SHARE else "NO"
    table.add_row("engine's share of its peer", f"{found.share:.2f}", f"at least {MIN_SHARE}", within)
    Console(highlight=False).print(table)


if __name__ == "__main__":
    typer.run(bench)
