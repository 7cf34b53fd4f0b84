"""The past over HTTP: columns by step, raw samples, labels, and answers that come at the second try."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import FleetwardError, InvalidInput, Unavailable
from controlplane.observe.archive import PAUSES, PrometheusArchive
from controlplane.observe.source import PrometheusSource


class Server:
    """What the library would be told: errors first, then ``answer``."""

    def __init__(self) -> None:
        self.errors: list[FleetwardError] = []
        self.answer: Any = []
        self.asked: list[Any] = []

    def custom_query_range(self, *asked: Any, **how: Any) -> Any:
        self.asked.append(asked)
        return self.answer

    def custom_query(self, *asked: Any, **how: Any) -> Any:
        self.asked.append((*asked, how))
        return self.answer

    def get_label_values(self, *asked: Any, **how: Any) -> Any:
        self.asked.append((*asked, how))
        return self.answer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()

    def ask(self: PrometheusSource, call: Callable[[Any], Any], query: str) -> Any:
        if made.errors:
            raise made.errors.pop(0)
        return call(made)

    monkeypatch.setattr(PrometheusSource, "_ask", ask)
    return made


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def archive(clock: VirtualClock) -> Iterator[PrometheusArchive]:
    made = PrometheusArchive("http://prometheus:9090/", clock)
    yield made
    made.close()


def test_a_series_is_a_column_with_a_value_for_each_step(archive: PrometheusArchive, server: Server) -> None:
    whole = {"metric": {"zone": "a"}, "values": [[0, "1"], [15, "2"], [30, "NaN"], [45, "+Inf"]]}
    holes = {"metric": {"zone": "b"}, "values": [[15, "7"], [45, "9"]]}
    server.answer = [whole, holes]
    found = archive.columns({"q": "up"}, 0.0, 4, 15.0)["q"]
    assert isinstance(found, list)
    first, second = (column.values.tolist() for column in found)
    assert (first[:2], math.isnan(first[2]), first[3]) == ([1.0, 2.0], True, math.inf)
    assert [None if math.isnan(value) else value for value in second] == [None, 7.0, None, 9.0]
    assert [column.labels for column in found] == [{"zone": "a"}, {"zone": "b"}]
    _, start, end, step = server.asked[0]
    assert (start.timestamp(), end.timestamp(), step) == (0.0, 45.0, "15")


def test_an_answer_that_does_not_come_is_asked_for_again(
    archive: PrometheusArchive, server: Server, clock: VirtualClock
) -> None:
    server.errors = [Unavailable("busy"), Unavailable("busy")]
    assert archive.columns({"q": "up"}, 0.0, 4, 15.0) == {"q": []}
    assert clock.monotonic() == sum(PAUSES)
    server.errors = [Unavailable("gone")] * 3
    assert isinstance(archive.columns({"q": "up"}, 0.0, 4, 15.0)["q"], Unavailable)


def test_what_is_refused_is_not_asked_again(
    archive: PrometheusArchive, server: Server, clock: VirtualClock
) -> None:
    server.errors = [InvalidInput("too many samples")]
    assert isinstance(archive.columns({"q": "up"}, 0.0, 4, 15.0)["q"], InvalidInput)
    assert clock.monotonic() == 0.0


def test_what_is_no_range_is_said(archive: PrometheusArchive, server: Server) -> None:
    server.answer = [{"metric": {}, "value": [0, "1"]}]
    assert isinstance(archive.columns({"q": "up"}, 0.0, 4, 15.0)["q"], Unavailable)
    with pytest.raises(Unavailable):
        archive.samples("up[10m]", 60.0)


def test_samples_come_as_they_were_stored_and_labels_of_a_span(
    archive: PrometheusArchive, server: Server
) -> None:
    server.answer = [{"metric": {"zone": "a"}, "values": [[0.4, "1"], [15.4, "0"]]}]
    (track,) = archive.samples("up[10m]", 60.0)
    assert track.points == ((0.4, 1.0), (15.4, 0.0))
    server.answer = ["0.5", "+Inf"]
    assert archive.labels("le", "{x}", 10.0, 20.0) == ["0.5", "+Inf"]
    assert server.asked[-1] == ("le", {"params": {"match[]": "{x}", "start": "10", "end": "20"}})
