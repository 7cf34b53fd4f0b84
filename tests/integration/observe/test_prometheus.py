"""A real Prometheus over scripted exporters: resets, deaths and restarts of either, as they are seen."""

from __future__ import annotations

import http.server
import math
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from controlplane.kernel.clock import from_unix
from controlplane.kernel.errors import InvalidInput, Unavailable
from controlplane.model.target import Target
from controlplane.model.topology import NodeView, ReplicaView, Topology, ZoneView
from controlplane.observe.answers import ALL
from controlplane.observe.observer import TICK, Observation, Observer
from controlplane.observe.probes import ProbeBook
from controlplane.observe.profile import shipped
from controlplane.observe.source import PrometheusSource
from tests.support.ports import free_port
from tests.support.real_prometheus import Prometheus, wait_for
from tests.unit.controlplane.decide.measured import SERVICE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed"),
]

INTERVAL = 0.5
TOKENS = "vllm:generation_tokens_total"
ZONE, NODE, NAME = "zone-a", "node-a1", "replica-a1-0"


class Exporter:
    """One replica's /metrics on a loopback port; ``text`` is what it shows."""

    def __init__(self) -> None:
        self.port = free_port()
        self.tokens = 0.0
        self.server: http.server.ThreadingHTTPServer | None = None
        self.start()

    def start(self) -> None:
        exporter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = exporter.text().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
                del format, args

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def text(self) -> str:
        labels = 'model_name="m",engine="0"'
        return (
            "# TYPE vllm:generation_tokens_total counter\n"
            f"vllm:generation_tokens_total{{{labels}}} {self.tokens}\n"
            "# TYPE vllm:num_requests_running gauge\n"
            f"vllm:num_requests_running{{{labels}}} 2.0\n"
        )


def scrape(exporter: Exporter) -> dict[str, Any]:
    """Return how Prometheus finds the exporter, and whose it is."""
    labels = {"service": "chat", "cluster": "local", "zone": ZONE, "node": NODE, "replica": NAME}
    targets = [{"targets": [f"127.0.0.1:{exporter.port}"], "labels": labels}]
    return {"job_name": "vllm", "static_configs": targets}


class Stage:
    """An exporter, a Prometheus that scrapes it, and an observer that asks that."""

    def __init__(self, folder: Path) -> None:
        self.exporter = Exporter()
        self.prometheus = Prometheus(folder, [scrape(self.exporter)])
        self.source = PrometheusSource(self.prometheus.url)
        self.observer = self.new_observer()
        replica = ReplicaView(name=NAME, uid="u1", ready=True, state="ready", address="http://x", version="1")
        node = NodeView(name=NODE, uid="n1", ready=True, version="1", replicas=(replica,))
        zone = ZoneView(name=ZONE, nodes=(node,))
        self.topology = Topology(
            service="chat", cluster="local", zones=(zone,), observed_at=datetime.now(UTC)
        )
        self.replica = self.topology.replicas()[0][0]

    def new_observer(self) -> Observer:
        return Observer(SERVICE, self.source, shipped(), ProbeBook(SERVICE.spec), tick=INTERVAL, lag=0.1)

    def observe(self) -> Observation:
        return self.observer.observe(datetime.now(UTC), self.topology, None)

    def engine(self) -> str:
        found = self.observe()
        return next(state.state for state in found.sources if state.name == "engine")

    def spend(self, tokens: float) -> None:
        """Let the engine make tokens, and wait until Prometheus has them."""
        self.exporter.tokens += tokens
        wait_for(lambda: self.prometheus.number(TOKENS) == self.exporter.tokens)

    def wait_for_sample(self) -> None:
        """Wait until Prometheus has a sample that it has not now."""
        newest = f"max(timestamp({TOKENS}))"
        had = self.prometheus.number(newest)
        wait_for(lambda: self.prometheus.number(newest) > had)

    def total(self) -> float:
        """Return the tokens that the observer has counted so far."""
        rate = self.observer.measures.rate("generation_tokens", self.replica)
        return (rate or 0.0) * self.observer.measures.store.covered(10.0)

    def close(self) -> None:
        self.source.close()
        self.prometheus.stop()
        self.exporter.stop()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.close()


def test_tokens_are_counted_through_a_restart_of_the_engine(stage: Stage) -> None:
    stage.exporter.tokens = 1000.0
    wait_for(lambda: stage.engine() == "fresh")
    stage.exporter.tokens = 1500.0
    wait_for(lambda: stage.observe() is not None and stage.total() >= 499.0)
    stage.exporter.tokens = 200.0
    wait_for(lambda: stage.observe() is not None and stage.total() >= 699.0)
    assert stage.total() == pytest.approx(700.0, abs=1.0)


def test_a_dead_replica_is_down_while_the_source_stays_fresh(stage: Stage) -> None:
    wait_for(lambda: stage.engine() == "fresh")
    assert stage.observe().states["availability"] == {stage.replica: True}
    stage.exporter.stop()
    wait_for(lambda: stage.observe().states.get("availability") == {stage.replica: False})
    assert stage.observe().evidence["availability"][stage.replica] == {"engine"}


def test_a_prometheus_that_is_gone_makes_nothing_bad_and_is_picked_up_again(stage: Stage) -> None:
    wait_for(lambda: stage.engine() == "fresh")
    stage.prometheus.stop()
    found = stage.observe()
    assert {state.state for state in found.sources if state.name == "engine"} == {"stale"}
    assert found.states == {}
    stage.prometheus.start()
    wait_for(lambda: stage.engine() == "fresh")


def tokens(observer: Observer, replica: Target, window: float) -> float:
    """Return the tokens that an observer counts over a window."""
    store = observer.measures.store
    row = store.find(("generation_tokens", ALL, replica))
    assert row is not None
    return float(store.sums(np.array([row]), [window])[0, 0])


def test_a_take_over_finds_its_windows_warm_and_as_they_were(stage: Stage) -> None:
    """The window that is compared at once begins between two bursts, where it does not matter when."""
    wait_for(lambda: stage.engine() == "fresh")
    between = 0.0
    for _ in range(2):
        for _ in range(6):
            stage.spend(100.0)
            stage.observe()
        for turn in range(6):
            stage.wait_for_sample()
            between = between or (datetime.now(UTC).timestamp() if turn == 3 else 0.0)
            stage.observe()
    before, fresh = stage.observer, stage.new_observer()
    fresh.rebuild(datetime.now(UTC), stage.topology, None)
    for _ in range(2):
        stage.wait_for_sample()
        now = datetime.now(UTC)
        for observer in (before, fresh):
            observer.observe(now, stage.topology, None)
    window = fresh.measures.store.last_at - between
    assert tokens(fresh, stage.replica, window) == pytest.approx(600.0)
    assert tokens(before, stage.replica, window) == pytest.approx(600.0)
    pieces = 0
    while fresh.warming:
        fresh.catch_up()
        pieces += 1
    assert pieces * TICK <= 60.0
    for span in (window, 60.0, 300.0, 3600.0, 3 * 86400.0):
        found, known = (tokens(each, stage.replica, span) for each in (fresh, before))
        assert found == pytest.approx(known, rel=1e-3)


def test_a_range_begins_and_ends_where_it_was_asked_to(stage: Stage) -> None:
    begin = math.floor(datetime.now(UTC).timestamp()) - 10.5
    (track,) = stage.source.matrix("vector(1)", from_unix(begin), from_unix(begin + 2), 0.5)
    assert [at for at, _ in track.points] == [begin + 0.5 * number for number in range(5)]


def test_one_number_or_none_or_the_reason_why_not(stage: Stage) -> None:
    wait_for(lambda: stage.engine() == "fresh")
    assert stage.source.instant("vector(41) + 1") == 42.0
    assert stage.source.instant("3") == 3.0
    assert stage.source.instant("nothing_like_it") is None
    assert stage.source.instant("vector(0) / 0") is None
    with pytest.raises(InvalidInput, match="2 series"):
        stage.source.instant('label_replace(vector(1), "a", "b", "", "") or vector(2)')
    with pytest.raises(InvalidInput, match="refuses the query"):
        stage.source.instant("sum(((")


def test_an_address_where_nobody_answers_is_unavailable_within_a_tick() -> None:
    source = PrometheusSource(f"http://127.0.0.1:{free_port()}")
    began = time.monotonic()
    with pytest.raises(Unavailable, match="does not answer"):
        source.instant("1")
    answers = source.poll({"a": "1", "b": "2"}, datetime.now(UTC) - timedelta(seconds=1))
    assert {type(answer) for answer in answers.values()} == {Unavailable}
    assert time.monotonic() - began < 4.0
    source.close()


def test_a_server_that_accepts_and_says_nothing_is_unavailable_in_time() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        source = PrometheusSource(f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        with pytest.raises(Unavailable, match="does not answer"):
            source.instant("1")
        assert time.monotonic() - began < 6.0
        source.close()
