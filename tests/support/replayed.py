"""What a real Prometheus scrapes while services are replayed to it, and an observer for each of them.

A service is replayed in steps: at each one every target shows its own text, or does not answer.
It keeps no pace of its own: a step is over once every target was scraped anew.
"""

from __future__ import annotations

import http.server
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from controlplane.model.target import Target
from controlplane.model.topology import NodeView, ReplicaView, Topology, ZoneView
from controlplane.observe.observer import Observation, Observer
from controlplane.observe.probes import ProbeBook
from controlplane.observe.profile import queries, serving, shipped
from controlplane.observe.source import PrometheusSource
from tests.support.ports import free_port
from tests.support.real_prometheus import Prometheus, wait_for
from tests.unit.controlplane.observe.replay import service

INTERVAL = 2.0
"""Seconds between two scrapes."""


class Place(NamedTuple):
    """A target of a service: a replica by its zone and number, or a zone's exporter by a name."""

    zone: str
    slot: str


FIRST, SECOND, THIRD = REPLICAS = (Place("zone-a", "0"), Place("zone-a", "1"), Place("zone-b", "0"))
EXPORTER = Place("zone-a", "gpu")


@dataclass(slots=True)
class Look:
    """What was seen at one step: when, and what was said of the first zone then."""

    at: float
    found: Observation
    values: dict[str, float | None]


@dataclass(slots=True)
class Replayed(ABC):
    """One service that is replayed; ``tick`` is what its observer takes for the time between two looks."""

    name: str
    engine: str
    tick: float = field(default=INTERVAL, kw_only=True)
    places: Sequence[Place] = field(default=REPLICAS, kw_only=True)
    looks: list[Look] = field(default_factory=list, init=False)

    @abstractmethod
    def text(self, place: Place, step: int) -> str | None:
        """Return what a target shows at a step; None when it does not answer."""

    @property
    def zone(self) -> Target:
        """The zone that most is asked of."""
        return Target(self.name, "local", "zone-a")

    @property
    def elapsed(self) -> float:
        """Seconds from the first look to the last."""
        return self.looks[-1].at - self.looks[0].at

    def observer(self, source: PrometheusSource) -> Observer:
        """Return an observer that asks for everything, also for what no tick asks."""
        spec = service(self.engine, self.name)
        # Without a lag: what was just waited for is to be seen.
        made = Observer(spec, source, shipped(), ProbeBook(spec.spec), tick=self.tick, lag=0.0)
        profiles = serving(shipped(), spec).values()
        made._queries = [query for each in profiles for query in queries(each, spec, everything=True)]
        return made

    def scrapes(self, port: int) -> Iterator[dict[str, Any]]:
        for zone, slot in self.places:
            labels = {"service": self.name, "zone": zone, "node": f"node-{zone}"}
            if slot.isdigit():
                labels["replica"] = f"{zone}-{slot}"
            yield {
                "job_name": f"{self.name}/{zone}/{slot}",
                "metrics_path": f"/{self.name}/{zone}/{slot}",
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
            for zone, slot in REPLICAS
            if zone == name
        )
        node = NodeView(name=f"node-{name}", uid=name, ready=True, version="1", replicas=views)
        return ZoneView(name=name, nodes=(node,))


class Fleet:
    """All services behind one port, one Prometheus that scrapes them, and an observer for each."""

    def __init__(self, folder: Path, services: Sequence[Replayed], noted: Sequence[str]) -> None:
        self.step, self.gone, self.port, self.noted = 0, set[str](), free_port(), noted
        self.services = {each.name: each for each in services}
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), self._handler())
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        scrapes = [scrape for each in services for scrape in each.scrapes(self.port)]
        self.prometheus = Prometheus(folder, scrapes, INTERVAL)
        self.source = PrometheusSource(self.prometheus.url)
        self.observers = {each.name: each.observer(self.source) for each in services}

    def text(self, name: str, place: Place) -> str | None:
        """Return what a target shows now; None when it does not answer."""
        return None if place.zone in self.gone else self.services[name].text(place, self.step)

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        fleet = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                _, name, zone, slot = self.path.split("/")
                text = fleet.text(name, Place(zone, slot))
                body = (text or "").encode()
                self.send_response(503 if text is None else 200)
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
            now, replayed = datetime.now(UTC), self.services[name]
            found = observer.observe(now, replayed.topology(), None)
            values = {each: observer.measures.value(each, replayed.zone) for each in self.noted}
            replayed.looks.append(Look(now.timestamp(), found, values))

    def _scraped(self) -> None:
        now = time.time()
        texts = [self.text(name, place) for name, each in self.services.items() for place in each.places]
        answer = sum(text is not None for text in texts)
        wait_for(lambda: self.prometheus.number(f"count(timestamp(up) > {now})") == len(texts), 60.0)
        wait_for(lambda: self.prometheus.number("sum(up)") == answer, 60.0)

    def close(self) -> None:
        self.source.close()
        self.prometheus.stop()
        self.server.shutdown()
        self.server.server_close()
