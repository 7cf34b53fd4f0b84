"""A window store that tests fill by hand: events of an indicator at a replica, tick by tick."""

from __future__ import annotations

from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.observe.answers import Sorter
from controlplane.observe.measures import Measures
from controlplane.observe.windows import WindowStore
from tests.unit.controlplane.decide.fleet import AT, ZONES

TICK = 2.0
SERVICE = Service.model_validate(
    {
        "kind": "Service",
        "metadata": {"name": "chat"},
        "spec": {"model": "m", "zones": [{"name": zone} for zone in ZONES]},
    }
)


class Filled:
    """Measures over a store; `tick` adds events by (measure, part, target) and commits."""

    def __init__(self) -> None:
        self.store = WindowStore(fine_slots=40, coarse_slots=4)
        self.sorter = Sorter(SERVICE, self.store)
        self.measures = Measures(SERVICE, self.store)
        self.at = AT.timestamp()
        self.store.commit(self.at)

    def tick(self, events: dict[tuple[str, float | str, Target], float], times: int = 1) -> None:
        for _ in range(times):
            self.at += TICK
            for (measure, part, target), amount in events.items():
                self.store.add_each(self.sorter.rows(measure, part, target), amount)
            for measure in {each[0] for each in events}:
                self.store.observe(measure, self.at - TICK, self.at)
            self.store.commit(self.at)
