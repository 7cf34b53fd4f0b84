"""One service's ticks over a real Prometheus, from the queries to the verdicts; run as a process of its own.

Of what a controller then writes down only the signals are measured, which are most of it, and apart.
The windows begin full, as after three days, so that memory is that of a loop that has run for long.
"""

from __future__ import annotations

import gc
import importlib
import json
import resource
import sys
import time
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

import numpy as np

from controlplane.bench.fleet import LATENCIES, PaperFleet
from controlplane.bootstrap.documents import action_registry
from controlplane.decide import signals
from controlplane.decide.absence import absences
from controlplane.decide.budgets import BudgetBook
from controlplane.decide.folding import fold
from controlplane.decide.plan import Plan
from controlplane.decide.service_state import takes_traffic
from controlplane.kernel.clock import SystemClock, from_unix
from controlplane.model.signals import SIGNALS, SignalsSnapshot
from controlplane.model.target import Signal
from controlplane.observe.observer import COLLECT, Observation, Observer
from controlplane.observe.probes import ProbeBook
from controlplane.observe.profile import shipped
from controlplane.observe.slices import SliceBook
from controlplane.observe.source import PrometheusSource
from controlplane.observe.windows import COARSE_SLOTS, COARSE_STEP, WindowStore
from controlplane.store.database import Database

CONTROLLER = (
    "controlplane.bootstrap.database",
    "controlplane.carrier",
    "controlplane.controller.loop",
    "controlplane.observe.alertmanager",
    "controlplane.platforms.lab",
    "controlplane.settings",
)
"""What a controller's process is made of, so that the memory is one's."""
WARM = 3
"""Ticks that are not measured: the first ones meet every series anew."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """One service's ticks, in seconds: medians on a core to decide and in all, and the quickest as it lasted.

    Others use the machine too, so that how long most last says more of them. ``judged``: verdicts that say
    good or bad. ``memory``: the most that the process had, in MB.
    """

    judged: int
    decide: float
    whole: float
    lasted: float
    left: float
    """To write down all signals, on a core."""
    memory: float


class Loop:
    """What a leader keeps of one service between two looks, as far as it is measured here."""

    def __init__(self, fleet: PaperFleet, observer: Observer) -> None:
        self.observer, self.slos = observer, fleet.slos()
        self.topology, self.weights = fleet.topology(fleet.name), fleet.weights(fleet.name)
        self.targets = self.topology.targets()
        self.traffic = takes_traffic(self.topology, self.weights)
        self.slices, self.book, self.plan = SliceBook(), BudgetBook(), Plan((), ())
        self.last_seen: dict[Signal, datetime] = {}

    def observe(self, now: datetime) -> Observation:
        return self.observer.observe(now, self.topology, self.weights)

    def decide(self, seen: Observation) -> signals.Judged:
        """Count budgets, judge every objective everywhere, miss what is silent, and fold."""
        measures, moment = self.observer.measures, seen.evaluated_at.timestamp()
        fresh = {state.name for state in seen.sources if state.state == "fresh"}
        sight = signals.Sight(seen.evaluated_at, fresh, seen.evidence)
        self.slices.keep(self.slos, self.targets, measures, moment)
        self.book.count(self.slos, measures.service.target, measures, moment)
        self.book.all_left()
        if not self.plan.is_of(self.slos, self.targets):
            self.plan = Plan(self.slos, self.targets)
        judged = signals.weigh(self.plan, measures, sight)
        found = list(judged.told)
        found += absences(self.slos, found, self.traffic, self.last_seen, seen.at)
        verdicts = fold(signals.with_clients(found, clients=judged.clients), self.targets)
        signals.witnesses(verdicts, {})
        return judged

    def leave(self, seen: Observation, judged: signals.Judged, database: Database) -> int:
        """Write down how all signals stand, for people and runs; return how many are good or bad."""
        every = [*judged.told, *judged.calm()]
        snapshot = SignalsSnapshot.model_construct(
            at=seen.at,
            evaluated_at=seen.evaluated_at,
            signals={str(verdict.signal): verdict.state for verdict in every},
            takes_traffic={str(target): takes for target, takes in self.traffic.items()},
        )
        body = snapshot.model_dump(mode="json", by_alias=True)
        with database.transaction() as tx:
            tx.snapshots.put(SIGNALS, body, service=self.observer.service.name, at=seen.at)
        return sum(verdict.state.good is not None for verdict in every)


def measure(folder: Path, url: str, fleet: PaperFleet, end: float, ticks: int, tick: float) -> Ticks:
    """Tick up to ``end``, each ``tick`` seconds, and measure the last ``ticks`` of them."""
    source, clock = PrometheusSource(url), SystemClock()
    observer = Observer(fleet.service, source, shipped(), ProbeBook(fleet.service.spec), tick, lag=0.0)
    loop, begin = Loop(fleet, observer), end - tick * (ticks + WARM)
    spent: list[tuple[float, ...]] = []
    known = 0
    with closing(source), closing(Database(f"sqlite:///{folder / 'ticks.db'}", clock)) as database:
        database.migrate()
        _fill(observer.measures.store, fleet, begin)
        for number in range(1, ticks + WARM + 1):
            began, first = time.perf_counter(), time.process_time()
            seen = loop.observe(from_unix(begin + tick * number))
            second = time.process_time()
            judged = loop.decide(seen)
            third, ended = time.process_time(), time.perf_counter()
            known = loop.leave(seen, judged, database)
            spent.append((third - second, third - first, time.process_time() - third, ended - began))
    decide, whole, left, _ = (median(each) for each in zip(*spent[WARM:], strict=True))
    lasted = min(each[-1] for each in spent[WARM:])
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Ticks(known, decide, whole, lasted, left, memory)


def _fill(store: WindowStore, fleet: PaperFleet, until: float) -> None:
    """Fill the windows with a past in which all went well."""
    parts: list[tuple[str, float | str]] = [("finished", "good"), ("finished", "bad")]
    parts += [("availability", "all"), ("availability", "good")]
    parts += [(name, float(bound)) for name, (_, bound) in LATENCIES.items()]
    parts += [(name, np.inf) for name in LATENCIES]
    wide: list[tuple[str, float | str]] = [("responses", "good"), ("responses", "bad")]
    rows, amounts = [], []
    for target in fleet.topology(fleet.name).targets():
        for name, part in [*parts, *(wide if target.level in {"service", "zone"} else [])]:
            rows.append(store.row((name, part, target)))
            amounts.append(0.0 if part == "bad" else 100.0)
    every, gained = np.array(rows), np.array(amounts)
    for number in range(COARSE_SLOTS, 0, -1):
        at = until - number * COARSE_STEP
        store.add(every, gained)
        for name in ("finished", "responses", "availability", *LATENCIES):
            store.observe(name, at - COARSE_STEP, at)
        store.commit(at)


def main(folder: str, url: str, name: str, *given: str) -> None:
    """Measure, and write down what was found."""
    for module in CONTROLLER:
        importlib.import_module(module)
    action_registry()
    gc.set_threshold(*COLLECT)
    size, (end, ticks, tick) = map(int, given[:3]), map(float, given[3:])
    found = measure(Path(folder), url, PaperFleet(name, *size), end, int(ticks), tick)
    sys.stdout.write(json.dumps(asdict(found)) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
