"""Every release of every engine, replayed into a real Prometheus, yields what its profile promises.

The expositions are made from the profiles; their counters advance, start again, and in the
end one zone is gone. What comes out is held against what was put in, within one per cent.
"""

from __future__ import annotations

import http.server
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from controlplane.model.target import Target
from controlplane.model.topology import NodeView, ReplicaView, Topology, ZoneView
from controlplane.observe import measures
from controlplane.observe.grading import grade_all, offer_of
from controlplane.observe.observer import Observer
from controlplane.observe.probes import ProbeBook
from controlplane.observe.profile import Generation, queries, serving, shipped
from controlplane.observe.source import PrometheusSource
from tests.support.ports import free_port
from tests.support.real_prometheus import Prometheus, wait_for
from tests.unit.controlplane.observe.replay import as_text, expose, service
from tests.unit.controlplane.observe.test_indicators import RELEASES, TRUTH, by_hand

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed"),
]

INTERVAL = 2.0
"""Seconds between two scrapes."""
PLACES = (("zone-a", "0"), ("zone-a", "1"), ("zone-b", "0"))
STEPS = (1, 3, 2, 5)
"""Ticks that each replica has counted when it is looked at; between the second and third it starts again."""
COUNTED = 2 + 2 + 3
WINDOW = 300.0
"""Seconds over which values are taken here: all that was replayed, however long a loaded machine took."""
PER_SECOND = {"tokens_per_second", "decode_throughput", "prefill_throughput", "etpm_estimate"}


@dataclass(slots=True)
class Release:
    """One release as a service of its own."""

    name: str
    engine: str
    generation: Generation
    texts: dict[int, str] = field(default_factory=dict)

    def observer(self, source: PrometheusSource) -> Observer:
        """Return an observer that asks for everything, also for what no tick asks."""
        spec = service(self.engine, self.name)
        # Without a lag: what was just waited for is to be seen.
        made = Observer(spec, source, shipped(), ProbeBook(spec.spec), tick=INTERVAL, lag=0.0)
        profiles = serving(shipped(), spec).values()
        made._queries = [query for each in profiles for query in queries(each, spec, everything=True)]
        return made

    def text(self, ticks: int) -> str:
        if ticks not in self.texts:
            self.texts[ticks] = as_text(list(expose(shipped()[self.engine], self.generation, TRUTH, ticks)))
        return self.texts[ticks]

    def scrapes(self, port: int) -> Iterator[dict[str, Any]]:
        for zone, slot in PLACES:
            labels = {"service": self.name, "zone": zone, "node": f"node-{zone}", "replica": f"{zone}-{slot}"}
            yield {
                "job_name": f"{self.name}/{zone}/{slot}",
                "metrics_path": f"/{self.name}/{zone}",
                "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": labels}],
            }

    def topology(self) -> Topology:
        zones = tuple(self._zone(name) for name in ("zone-a", "zone-b"))
        return Topology(service=self.name, cluster="local", zones=zones, observed_at=datetime.now(UTC))

    def _zone(self, name: str) -> ZoneView:
        views = tuple(
            ReplicaView(
                name=f"{zone}-{slot}", uid=slot, ready=True, state="ready", address="http://x", version="1"
            )
            for zone, slot in PLACES
            if zone == name
        )
        node = NodeView(name=f"node-{name}", uid=name, ready=True, version="1", replicas=views)
        return ZoneView(name=name, nodes=(node,))


class Fleet:
    """All releases behind one port, one Prometheus that scrapes them, and an observer for each."""

    def __init__(self, folder: Path) -> None:
        self.ticks, self.gone, self.port = STEPS[0], set[str](), free_port()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), self._handler())
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.releases = {
            f"{engine}-{number}": Release(f"{engine}-{number}", engine, generation)
            for number, (engine, generation) in enumerate(RELEASES)
        }
        scrapes = [each for release in self.releases.values() for each in release.scrapes(self.port)]
        self.prometheus = Prometheus(folder, scrapes, INTERVAL)
        self.source = PrometheusSource(self.prometheus.url)
        self.observers = {name: each.observer(self.source) for name, each in self.releases.items()}

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        fleet = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                _, name, zone = self.path.split("/")
                body = fleet.releases[name].text(fleet.ticks).encode()
                self.send_response(503 if zone in fleet.gone else 200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
                del format, args

        return Handler

    def observe(self) -> None:
        """Look once each target was scraped anew."""
        self._scraped()
        for name, observer in self.observers.items():
            observer.observe(datetime.now(UTC), self.releases[name].topology(), None)

    def _scraped(self) -> None:
        now, targets = time.time(), len(PLACES) * len(self.releases)
        gone = sum(zone in self.gone for zone, _ in PLACES) * len(self.releases)
        wait_for(lambda: self.prometheus.number(f"count(timestamp(up) > {now})") == targets, 60.0)
        wait_for(lambda: self.prometheus.number("sum(up)") == targets - gone, 60.0)

    def close(self) -> None:
        self.source.close()
        self.prometheus.stop()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    made = Fleet(tmp_path_factory.mktemp("prometheus"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "SHORT", WINDOW)
        for ticks in STEPS:
            made.ticks = ticks
            made.observe()
        yield made
    made.close()


def expected(name: str, by_tick: float, counted: float) -> float:
    """Turn a value by hand, for ticks of two seconds without end, into one of what was really counted."""
    pace = COUNTED * 2.0 / counted
    if name in PER_SECOND:
        return by_tick * pace
    if name == "cost_per_million":
        return by_tick / pace
    if name == "roi":
        return (by_tick + 1) * pace - 1
    return by_tick


@pytest.mark.parametrize("number", range(len(RELEASES)), ids=lambda number: f"{number}-{RELEASES[number][0]}")
def test_what_was_replayed_comes_out(fleet: Fleet, number: int) -> None:
    engine, generation = RELEASES[number]
    name = f"{engine}-{number}"
    offer = offer_of(shipped()[engine], generation)
    values, seen = by_hand(set(offer.series)), fleet.observers[name].measures
    counted, wrong = seen.store.covered(WINDOW), {}
    for row in grade_all(offer, {}):
        if row.grade == "unavailable" or row.indicator == "volatility":
            continue
        wanted = expected(row.reads, values[row.reads], counted)
        found = seen.value(row.reads, Target(name, "local", "zone-a"))
        if found != pytest.approx(wanted, rel=0.01):
            wrong[row.indicator] = (found, wanted)
    assert wrong == {}


def test_a_zone_that_goes_takes_nothing_from_the_other(fleet: Fleet) -> None:
    fleet.gone = {"zone-b"}
    fleet.observe()
    for name, observer in fleet.observers.items():
        seen = observer.measures
        assert seen.value("availability", Target(name, "local", "zone-a")) == 1.0
        assert seen.value("availability", Target(name, "local", "zone-b")) == 0.0
        assert seen.value("queue", Target(name, "local", "zone-b")) is None
