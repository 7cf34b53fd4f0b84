"""A tick over many objectives at many targets, beside Sloth's rules for the same objectives in the same run.

Both read the same series of the same Prometheus. A tick is charged what Prometheus takes to answer it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from controlplane.bench import fleet
from controlplane.bench.fleet import PER_REPLICA, PaperFleet
from controlplane.bench.parts import cpu_seconds
from controlplane.bench.prometheus import Prometheus, prometheus
from controlplane.bench.ticks import WARM, Ticks
from controlplane.kernel.clock import SystemClock
from controlplane.observe.observer import TICK
from controlplane.observe.profile import shipped
from controlplane.observe.rules import export

MANY = PaperFleet("many", 26, 32)
"""2,578 targets: with four objectives 10,312 to judge."""
FEW = PaperFleet("few", 1, 5, copies=118)
"""The other way round: 472 objectives at 22 targets."""
SIZES = (PaperFleet("small", 1, 2), PaperFleet("middle", 1, 5), PaperFleet("large", 3, 5))
SCRAPE = 30.0
"""Seconds between two samples of what is compared, and so between two ticks over it."""
TIMES = 5
"""Evaluations of the rules that are measured."""
TICKS = 30


@dataclass(frozen=True, slots=True)
class Pair:
    """What judging the same objectives costs, in seconds on a core each time: by ticks, and by rules."""

    series: int
    judged: int
    tick: float
    rules: float

    @property
    def times(self) -> float:
        return self.rules / self.tick


@dataclass(frozen=True, slots=True)
class Scale:
    """All that was measured. ``samples``: how many there were to read."""

    many: Ticks
    few: Ticks
    pairs: Sequence[Pair]
    samples: int

    @property
    def growth(self) -> tuple[float, float]:
        """How many times more the largest costs than the smallest: ticks, and rules."""
        first, last = self.pairs[0], self.pairs[-1]
        return last.tick / first.tick, last.rules / first.rules


def measure(folder: Path, days: float) -> Scale:
    """Make the past, and measure both over it. Raises `Unavailable` without Prometheus and promtool."""
    clock = SystemClock()
    data = folder / "data"
    end = clock.now().timestamp() // TICK * TICK
    samples = fleet.load(folder, SIZES, (end - days * 86400, end), SCRAPE, data)
    with prometheus(folder, folder / "many", clock) as server:
        for each in (MANY, FEW):
            samples += fleet.push(server.url, each, (end - TICK * (TICKS + WARM + 5), end), TICK)
        many, few = (_ticks(server, each, end, TICK)[0] for each in (MANY, FEW))
    with prometheus(folder, data, clock) as server:
        pairs = [_pair(server, each, end) for each in SIZES]
    return Scale(many, few, pairs, samples)


def _pair(server: Prometheus, size: PaperFleet, end: float) -> Pair:
    found, answering = _ticks(server, size, end, SCRAPE)
    exported = export(size.slos(), {size.name: size.service}, shipped())
    rules = server.evaluate(exported.groups, TIMES)
    return Pair(size.size * PER_REPLICA, found.judged, found.whole + answering, rules)


def _ticks(server: Prometheus, size: PaperFleet, end: float, tick: float) -> tuple[Ticks, float]:
    """Return what ticks cost, and what answering one cost Prometheus."""
    before = cpu_seconds(server.pid)
    fleet_given = (size.name, size.nodes, size.replicas, size.copies)
    with tempfile.TemporaryDirectory(dir=server.folder) as folder:
        given = (folder, server.url, *fleet_given, end, TICKS, tick)
        argv = [sys.executable, "-m", "controlplane.bench.ticks", *map(str, given)]
        done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True)
    answering = (cpu_seconds(server.pid) - before) / (TICKS + WARM)
    return Ticks(**json.loads(done.stdout.splitlines()[-1])), answering
