"""How fast a gray zone loses its traffic, and how much of the yield a lost zone costs.

Gray zones: drills in a row on one fleet, each complete. Lost zone: the effective tokens of
the 120 s from the injection, over the same arrivals (same seed, same sequence numbers) on a
second fleet that nothing happens to.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos.drills.verdict import KEPT_WINDOW
from chaos.lab.layout import LabSettings
from chaos.up.demo import run_drill
from chaos.up.fleet import EmbeddedFleet, FleetOptions, shipped_documents
from controlplane.kernel.errors import Unavailable
from controlplane.model.report import DrillReport

Say = Callable[[str], None]
SETTLE = 70.0
"""Seconds after the last arrival of interest by which its answer has ended or timed out."""


def fleet(state_dir: Path, seed: int) -> EmbeddedFleet:
    """Return an embedded fleet with the shipped documents."""
    return EmbeddedFleet(FleetOptions(state_dir, shipped_documents(), LabSettings(seed=seed)))


def gray_zones(state_dir: Path, count: int, say: Say) -> list[DrillReport]:
    """Run ``count`` gray-zone drills one after the other and return their reports."""
    reports = []
    with fleet(state_dir, seed=1).running(say) as running:
        for number in range(1, count + 1):
            report = run_drill(running, "gray-zone", threading.Event(), say)
            say(f"gray-zone {number}/{count}: {report.verdict}, {'; '.join(report.reasons)}")
            reports.append(report)
    return reports


def lost_zone(state_dir: Path, seed: int, say: Say) -> tuple[DrillReport, float]:
    """Return the report of a zone outage and the share of effective tokens kept against the same seed."""
    with fleet(state_dir / "outage", seed).running(say) as running:
        report = run_drill(running, "zone-outage", threading.Event(), say)
        running.clock.sleep(1)
        hurt = _rows(running.state_dir)
    if report.injected_at is None:
        msg = f"the outage was never injected: {'; '.join(report.reasons)}"
        raise Unavailable(msg)
    start = report.injected_at.timestamp()
    wanted = {seq for seq, row in hurt.items() if start <= float(row["plannedAt"]) < start + KEPT_WINDOW}
    with fleet(state_dir / "quiet", seed).running(say) as running:
        say(f"waiting for arrival {max(wanted)} on the fleet that nothing happens to")
        well = _rows(running.state_dir)
        while max(well, default=-1) < max(wanted):
            running.clock.sleep(2)
            running.tend()
            well = _rows(running.state_dir)
        running.clock.sleep(SETTLE)
        well = _rows(running.state_dir)
    return report, _effective(hurt, wanted) / _effective(well, wanted)


def tokens_served(running: EmbeddedFleet) -> float:
    """Return the output tokens of all requests that have ended so far."""
    return sum(float(row["tokens"]) for row in _rows(running.state_dir).values())


def _rows(state_dir: Path) -> dict[int, dict[str, Any]]:
    """Read the ended requests of a fleet's traffic, by sequence number."""
    lines = (state_dir / "traffic" / "truth.jsonl").read_text().splitlines()
    rows = (json.loads(line) for line in lines if line.endswith("}"))
    return {row["seq"]: row for row in rows}


def _effective(rows: dict[int, dict[str, Any]], wanted: set[int]) -> float:
    return sum(float(rows[seq]["tokens"]) for seq in wanted if seq in rows and rows[seq]["effective"])
