"""The reference page of engines: which indicator each gives, exactly, as a bound, or not at all.

Text from the matrix; `controlplane.bootstrap.reference` writes and checks the file.
"""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.observe.grading import Graded
from controlplane.observe.matrix import EngineView, IndicatorView, Matrix

NOTE = "<!-- Made by `python -m controlplane.bootstrap.reference --write`; do not edit. -->"

_INTRODUCTION = """\
What Fleetward knows of a service depends on what its engine exports. **exact** is what the indicator
means; **lower**, **upper** and **estimate** are bounds, and it is said why; **–** is not to be had of
the engine alone. `+ name` says what it becomes when that source is scraped as well: `clients` count
what they got, `envoy` is the gateway, `dcgm` the GPUs, `kube-state-metrics` the cluster. The canary's
known answers add the quality to eTPM.

`fleetward engines check FILE|URL` says the same of a text that is really there. Thresholds of
latencies are snapped to the bucket bound at or below them, and that is said; percentiles are
interpolated in their bucket."""


def engines_page(found: Matrix) -> str:
    """Return the page."""
    parts = ["# Engines and indicators", NOTE, _INTRODUCTION, "## Indicators", _meanings(found.indicators)]
    parts += ["## What each engine gives", *_overview(found)]
    for engine in found.engines:
        parts += _details(engine)
    return "\n\n".join(parts) + "\n"


def _meanings(indicators: tuple[IndicatorView, ...]) -> str:
    rows = [
        f"| {each.family}. {each.title} | `{each.name}` | {_cell(each.meaning)} | {_cell(each.formula)} | "
        f"{each.unit} | {each.better} |"
        for each in indicators
    ]
    head = ["| | indicator | meaning | formula | unit | better |", "| --- | --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *rows])


def _overview(found: Matrix) -> Iterator[str]:
    """Yield a table of the newest release of every engine, by name of its profile."""
    newest = {engine.name: engine.generations[-1] for engine in found.engines}
    head = f"| indicator | {' | '.join(newest)} |"
    rows = [
        f"| `{each.name}` | {' | '.join(_mark(generation.indicators[i]) for generation in newest.values())} |"
        for i, each in enumerate(found.indicators)
    ]
    yield "The newest release that is known of each:"
    yield "\n".join([head, "| --- " * (len(newest) + 1) + "|", *rows])


def _details(engine: EngineView) -> Iterator[str]:
    names = [generation.name for generation in engine.generations]
    yield f"## {engine.title}"
    rows = []
    for i, first in enumerate(engine.generations[-1].indicators):
        marks = " | ".join(_mark(generation.indicators[i]) for generation in engine.generations)
        says = [_says(generation.indicators[i]) for generation in engine.generations]
        told = "; ".join(dict.fromkeys(text for text in reversed(says) if text))
        rows.append(f"| `{first.indicator}` | {marks} | {_cell(told)} |")
    yield "\n".join(
        [f"| indicator | {' | '.join(names)} | from, or why not |", "| --- " * (len(names) + 2) + "|", *rows]
    )


def _mark(row: Graded) -> str:
    own = {"exact": "exact", "bounded": str(row.bound), "unavailable": "–"}[row.grade]
    if row.with_ is None or not row.with_.sources:
        return own
    more = row.with_.bound or "exact"
    return (
        f"{own} + {', '.join(row.with_.sources)}"
        if more == own
        else f"{own}; {more} + {', '.join(row.with_.sources)}"
    )


def _says(row: Graded) -> str:
    if row.grade == "unavailable":
        return row.reason
    series = ", ".join(f"`{name}`" for name in row.series)
    more = [text for text in (row.why, *row.notes) if text]
    return f"{series}: {'; '.join(more)}" if more else series


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
