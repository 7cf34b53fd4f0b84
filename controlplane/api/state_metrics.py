"""What Fleetward knows of itself and of the fleet, for its own dashboard and alerts (`charts/observability`).

Counted at the scrape, from the same rows as the pages, so that a figure here and one in the console
cannot differ. What is not known is no sample, never zero. It measures no engine: that is Prometheus' own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from controlplane.api.services import Services
from controlplane.api.stream import Hub
from controlplane.kernel.errors import FleetwardError
from controlplane.model.overview import OVERVIEW, Overview
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction

Key = tuple[str, ...]
"""The values of a sample's labels."""

OVERDUE = 30.0
"""Seconds: a sweep comes every few, so what nobody has taken for that long nobody takes."""
MOST = 10_000
"""Incidents that are counted by their states."""


class StateCollector(Collector):
    """Reads the database at each scrape; ``fleetward_database_up`` says whether that worked."""

    def __init__(self, services: Services, hub: Hub) -> None:
        self._services = services
        self._hub = hub

    def describe(self) -> Iterator[Metric]:
        """Name nothing beforehand, so that registering does not read the database."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        yield _gauge("event_streams", "Open live streams", self._hub.open_streams)
        try:
            with self._services.database.reading() as tx:
                found = [*_work(tx), *_fleet(tx)]
        except FleetwardError:
            found = []
        yield _gauge("database_up", "Whether the database answered this scrape", float(bool(found)))
        yield from found


def _work(tx: Transaction) -> Iterator[Metric]:
    """What is open, under way, or waits for somebody."""
    yield _gauge("halts_active", "Halts in force", len(tx.halts.in_force()))
    yield _gauge("faults_open", "Faults not yet seen clear", len(tx.faults.list(open=True)))
    yield _gauge("out_of_service", "Claims of targets out of service", len(tx.ledger.list()))
    yield _gauge(
        "approvals_waiting", "Questions that nobody has decided", len(tx.approvals.list(waiting=True))
    )
    yield _gauge(
        "runs_overdue", f"Runs due for over {OVERDUE:g} s that nobody works on", tx.runs.overdue(OVERDUE)
    )
    kinds: dict[Key, float] = {
        (kind,): tx.runs.count(RunQuery(kind=kind, active=True)) for kind in ("playbook", "drill")
    }
    yield _family("runs_active", "Runs that have not ended", ("kind",), kinds)
    states: Counter[Key] = Counter(
        (one.service, one.state.value) for one in tx.incidents.list(open=True, limit=MOST)
    )
    yield _family("incidents_open", "Incidents that are not resolved", ("service", "state"), states)


def _fleet(tx: Transaction) -> Iterator[Metric]:
    """The controller's last picture of each service, and how old it is."""
    ages: dict[Key, float] = {}
    fresh: dict[Key, float] = {}
    weights: dict[Key, float] = {}
    yields: dict[Key, float] = {}
    for service in tx.snapshots.services(OVERVIEW):
        at, body = tx.snapshots.at(OVERVIEW, service=service), tx.snapshots.get(OVERVIEW, service=service)
        if at is None or body is None:
            continue
        seen = Overview.model_validate(body)
        ages[service,] = (tx.now - at).total_seconds()
        fresh |= {(service, one.name): float(one.state == "fresh") for one in seen.sources}
        weights |= {(service, zone.name): zone.weight for zone in seen.zones}
        if seen.headline.etpm is not None:
            yields[service,] = seen.headline.etpm
    yield _family("tick_age_seconds", "Time since the controller last looked", ("service",), ages)
    yield _family("source_fresh", "Whether a source of observation is fresh", ("service", "source"), fresh)
    yield _family("zone_weight", "A zone's weight at the gateway, 0 to 100", ("service", "zone"), weights)
    text = "Output tokens a minute of requests that ended without error, were right, and were in time"
    yield _family("effective_tokens_per_minute", text, ("service",), yields)


def _gauge(name: str, text: str, value: float) -> Metric:
    return _family(name, text, (), {(): value})


def _family(name: str, text: str, labels: tuple[str, ...], values: Mapping[Key, float]) -> Metric:
    family = GaugeMetricFamily(f"fleetward_{name}", text, labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family
