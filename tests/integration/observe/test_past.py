"""The past in a real Prometheus: what is looked at closely is as if all had been read at a tick's steps."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from controlplane.observe import observer
from controlplane.observe.observer import Observer
from controlplane.observe.past import Piece
from controlplane.observe.probes import ProbeBook
from controlplane.observe.profile import shipped
from controlplane.observe.source import PrometheusSource
from tests.support.real_prometheus import Prometheus
from tests.unit.controlplane.decide.fleet import AT, topology
from tests.unit.controlplane.decide.measured import SERVICE
from tests.unit.controlplane.observe.recorded import Recorded
from tests.unit.controlplane.observe.test_doubts import (
    BEGIN,
    HOUR,
    REPLICAS,
    STORIES,
    TICK,
    WEIGHTS,
    WHO,
    WINDOWS,
    seen,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed"),
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed"),
]


@pytest.fixture
def source(tmp_path: Path) -> Iterator[PrometheusSource]:
    span = (BEGIN, HOUR / 2)
    file = Recorded(STORIES, AT.timestamp(), span, TICK).write(tmp_path, span)
    command = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--quiet", str(file)]
    subprocess.run([*command, str(tmp_path / "data")], check=True, capture_output=True, timeout=60)
    prometheus = Prometheus(tmp_path, [], more=["--storage.tsdb.retention.time=10y"])
    made = PrometheusSource(prometheus.url)
    yield made
    made.close()
    prometheus.stop()


def take_over(source: PrometheusSource) -> Observer:
    """Return an observer whose windows are all there, half a minute of ticks later."""
    fresh, now = Observer(SERVICE, source, shipped(), ProbeBook(SERVICE.spec), tick=TICK, lag=0.0), AT
    fresh.rebuild(now, topology(), WEIGHTS)
    for _ in range(30):
        now += timedelta(seconds=TICK)
        fresh.observe(now, topology(), WEIGHTS)
        fresh.catch_up()
    assert not fresh.warming
    return fresh


def test_what_happens_within_the_cells_is_as_if_every_tick_had_been_read(
    source: PrometheusSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = take_over(source)

    def every_tick(until: float, tick: float) -> list[Piece]:
        return [Piece(AT.timestamp() + BEGIN, until, tick)]

    monkeypatch.setattr(observer, "pieces", every_tick)
    slow = take_over(source)
    for target in REPLICAS:
        for window, one, other in zip(WINDOWS, seen(slow, target), seen(fresh, target), strict=True):
            assert other == pytest.approx(one, rel=1e-3), (WHO[target], window)
