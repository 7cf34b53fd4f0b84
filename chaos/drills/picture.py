"""The picture of a drill: the effective share of each second's arrivals, with the drill's moments.

It returns numbers and points for the template to draw, no markup: coordinates of an SVG of
`WIDTH` × `HEIGHT`, time from left to right, share from 0 at the bottom to 1 at the top.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from controlplane.model.report import DrillReport

WIDTH, HEIGHT = 960, 220
LEFT, RIGHT, TOP, BOTTOM = 40, 10, 26, 24
TICK = 15
"""Seconds between two marks of the time axis."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One moment on the time axis."""

    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Picture:
    """``lines``: stretches of known shares as SVG points; ``bands``: (x, width) of standing faults."""

    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    enough: float
    lines: tuple[str, ...]
    bands: tuple[tuple[float, float], ...]
    marks: tuple[Mark, ...]
    ticks: tuple[Mark, ...]


def timeline(report: DrillReport) -> Picture | None:
    """Return the picture, or None when nothing was measured."""
    points = report.yield_
    if len(points) < 2 or report.injected_at is None:
        return None
    first, last = points[0].at, points[-1].at
    span = (last - first).total_seconds()
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def x(moment: datetime) -> float:
        part = (moment - first).total_seconds() / span
        return round(LEFT + min(1.0, max(0.0, part)) * (right - LEFT), 1)

    def y(share: float) -> float:
        return round(bottom - share * (bottom - TOP), 1)

    lines, current = [], list[str]()
    for point in points:
        if point.effective_share is None:
            lines.append(" ".join(current))
            current = []
        else:
            current.append(f"{x(point.at)},{y(point.effective_share)}")
    lines.append(" ".join(current))
    moments = {
        "injected" if report.exercise is None else "begun": report.injected_at,
        "detected": report.detected_at,
        "mitigated": report.mitigated_at,
        "recovered": report.recovered_at,
    }
    offset = (report.injected_at - first).total_seconds()
    ticks = range(-int(offset // TICK) * TICK, int(span - offset) + 1, TICK)
    return Picture(
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=right,
        top=TOP,
        bottom=bottom,
        enough=y(0.95),
        lines=tuple(line for line in lines if line),
        bands=tuple((x(start), round(x(end) - x(start), 1)) for start, end in _stretches(report, last)),
        marks=tuple(Mark(x(at), name) for name, at in moments.items() if at is not None),
        ticks=tuple(
            Mark(round(LEFT + (offset + tick) / span * (right - LEFT), 1), f"{tick:+d} s" if tick else "0")
            for tick in ticks
        ),
    )


def _stretches(report: DrillReport, last: datetime) -> list[tuple[datetime, datetime]]:
    """Return when faults stood, or the exercise ran."""
    found = [
        (one.injected_at, one.cleared_at or last) for one in report.faults if one.injected_at is not None
    ]
    if report.exercise is not None:
        found.append((report.exercise.started_at, report.exercise.ended_at or last))
    return found
