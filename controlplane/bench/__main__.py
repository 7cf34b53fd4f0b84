"""``python -m controlplane.bench``: the engine's speed and what waiting runs cost, beside their bounds."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from controlplane.bench import engine, scale, waiting

MIN_SHARE = 0.4
MAX_CORE = 0.05
MIN_JUDGED, MAX_DECIDE, MAX_TICK, MAX_MEMORY = 10_000, 0.050, 0.400, 400.0
MIN_TIMES = 20.0


def bench(
    runs: Annotated[
        int, typer.Option(help="Runs of a five-step playbook; 0 leaves the measurement out.")
    ] = 200,
    noops: Annotated[int, typer.Option(help="Tasks of the peer that does nothing.")] = 2000,
    rounds: Annotated[int, typer.Option(min=1, help="How often both are measured, in turns.")] = 3,
    wait: Annotated[int, typer.Option(help="Runs that wait; 0 leaves the measurement out.")] = 1000,
    watch: Annotated[
        float, typer.Option(help="Seconds that they are watched for, and as many without.")
    ] = 30.0,
    days: Annotated[
        float, typer.Option(help="Days that Prometheus has of what ticks and rules judge; 0 leaves them out.")
    ] = 3.1,
) -> None:
    """Measure on a real Redis, a database on disk, a real Prometheus; ends with 1 when a bound is missed."""
    table = Table("figure", "measured", "bound", "within")
    kept = True
    with tempfile.TemporaryDirectory(prefix="fleetward-bench-") as folder:
        if runs:
            kept &= _throughput(table, engine.measure(Path(folder), runs, noops, rounds))
        if wait:
            kept &= _cost(table, waiting.measure(Path(folder), wait, watch))
        if days:
            kept &= _scale(table, scale.measure(Path(folder), days))
    Console(highlight=False).print(table)
    if not kept:
        raise typer.Exit(1)


def _throughput(table: Table, rounds: Sequence[engine.Throughput]) -> bool:
    middle = rounds[len(rounds) // 2]
    kept = middle.share >= MIN_SHARE
    table.add_row("engine: steps a second (SQLite, one worker)", f"{middle.steps:.0f}", "", "")
    table.add_row("engine: steps a message", f"{middle.steps_per_message:.1f}", "", "")
    table.add_row("bare Celery: no-op tasks a second, same broker", f"{middle.noops:.0f}", "", "")
    every = ", ".join(f"{each.share:.2f}" for each in rounds)
    words = f"engine's share of its peer, the middle of {every}"
    table.add_row(words, f"{middle.share:.2f}", f"at least {MIN_SHARE}", "yes" if kept else "NO")
    return kept


def _cost(table: Table, found: waiting.Waiting) -> bool:
    kept = found.cost < MAX_CORE
    for words, shares in (("at rest", found.idle), (f"{found.runs} runs wait", found.busy)):
        table.add_row(f"of a core, {words}: {_each(shares)}", f"{sum(shares.values()):.1%}", "", "")
    bound = f"under {MAX_CORE:.0%}"
    words = f"what {found.runs} waiting runs cost: controller, worker, Redis"
    table.add_row(words, f"{found.cost:.1%} of a core", bound, "yes" if kept else "NO")
    return kept


def _scale(table: Table, found: scale.Scale) -> bool:
    many, few, (ticks, rules) = found.many, found.few, found.growth
    kept = [
        _row(
            table, "tick: objectives x targets judged", many.judged, MIN_JUDGED, "at least {:.0f}", "{:.0f}"
        ),
        _row(table, "tick: to decide, ms of a core", -1e3 * many.decide, -1e3 * MAX_DECIDE, "at most {:.0f}"),
        _row(
            table,
            "tick: queries, decoding and all, ms",
            -1e3 * many.lasted,
            -1e3 * MAX_TICK,
            "at most {:.0f}",
        ),
        _row(table, "tick: the same on a core, ms", -1e3 * many.whole, -1e3 * MAX_TICK, "at most {:.0f}"),
        _row(table, "tick: memory, MB", -many.memory, -MAX_MEMORY, "under {:.0f}"),
        _row(
            table,
            "the same of 472 objectives at 22 targets: judged",
            few.judged,
            MIN_JUDGED,
            "at least {:.0f}",
            "{:.0f}",
        ),
        _row(
            table, "the same: to decide, ms of a core", -1e3 * few.decide, -1e3 * MAX_DECIDE, "at most {:.0f}"
        ),
        _row(table, "the same: all as it lasts, ms", -1e3 * few.lasted, -1e3 * MAX_TICK, "at most {:.0f}"),
    ]
    table.add_row("then, to write down all signals, ms of a core", f"{1e3 * many.left:.1f}", "", "")
    for pair in found.pairs:
        what = f"{pair.series} series, {pair.judged} judged, ms of a core: tick {1e3 * pair.tick:.1f}"
        table.add_row(f"{what}, Sloth's rules {1e3 * pair.rules:.0f}", f"{pair.times:.0f} times less", "", "")
    most = found.pairs[-1]
    kept += [
        _row(
            table, f"times less than rules at {most.series} series", most.times, MIN_TIMES, "at least {:.0f}"
        ),
        _row(table, "from the smallest to the largest: rules grow", rules, ticks, "more than ticks: {:.1f}"),
    ]
    return all(kept)


def _row(table: Table, words: str, found: float, least: float, bound: str, shown: str = "{:.1f}") -> bool:
    """Add a row; what must be at most so much comes with its sign turned."""
    kept = found >= least
    table.add_row(words, shown.format(abs(found)), bound.format(abs(least)), "yes" if kept else "NO")
    return kept


def _each(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {share:.1%}" for name, share in shares.items())


if __name__ == "__main__":
    typer.run(bench)
