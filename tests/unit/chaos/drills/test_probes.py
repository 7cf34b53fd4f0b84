"""The sources of evidence keep what they were told, and probes judge no better than the rows."""

import json
from typing import Any

import httpx
import pytest

from chaos.drills import probes
from chaos.drills.feeds import Queries, TruthFeed
from controlplane.kernel.errors import Unavailable
from controlplane.model.drill import EffectiveShareProbe, FirstTokenProbe, PrometheusProbe
from controlplane.model.service import Objectives
from tests.unit.chaos.drills.rows import START, opened, refused, request, traffic, truth

SHARE = EffectiveShareProbe.model_validate({"name": "served", "type": "effectiveShare", "atLeast": "95%"})
FIRST = FirstTokenProbe.model_validate({"name": "first", "type": "firstToken", "within": "10s"})
PROM = PrometheusProbe.model_validate(
    {"name": "up", "type": "prometheus", "query": "up", "tolerance": [1, 2]}
)


class Generator:
    """A traffic generator that tells what it is given, by revision."""

    def __init__(self) -> None:
        self.tellings: list[dict[str, Any]] = []
        self.asked: list[int] = []
        self.broken = False

    def tell(self, **row: Any) -> None:
        self.tellings.append(row)

    def __call__(self, call: httpx.Request) -> httpx.Response:
        if self.broken:
            return httpx.Response(500)
        since = int(call.url.params["since"])
        self.asked.append(since)
        body = {
            "now": START + 100,
            "rev": len(self.tellings),
            "planned": {},
            "requests": self.tellings[since:],
        }
        return httpx.Response(200, text=json.dumps(body))


def feed_of(generator: Generator) -> TruthFeed:
    return TruthFeed("http://traffic", httpx.Client(transport=httpx.MockTransport(generator)))


def row(seq: int, at: float, **fields: Any) -> dict[str, Any]:
    return {"seq": seq, "plannedAt": at, "sentAt": at, "outcome": "open", "promptTokens": 5, **fields}


def test_the_feed_asks_only_for_what_changed_and_keeps_the_last_telling() -> None:
    generator = Generator()
    feed = feed_of(generator)
    generator.tell(**row(0, START))
    assert [one.outcome for one in feed.read(START - 1, Objectives()).requests] == ["open"]
    generator.tell(**row(0, START, outcome="ok", zone="zone-a"))
    assert [(one.outcome, one.zone) for one in feed.read(START - 1, Objectives()).requests] == [
        ("ok", "zone-a")
    ]
    assert generator.asked == [0, 1]


def test_a_generator_that_was_started_anew_is_read_from_its_beginning() -> None:
    generator = Generator()
    feed = feed_of(generator)
    for seq in range(3):
        generator.tell(**row(seq, START + seq))
    assert len(feed.read(0, Objectives()).requests) == 3
    generator.tellings = [row(0, START + 50)]
    assert [one.planned_at for one in feed.read(0, Objectives()).requests] == [START + 50]


@pytest.mark.parametrize("body", ["[]", "{}", '{"now": "x", "rev": 0, "requests": []}', "no json"])
def test_an_answer_that_makes_no_sense_is_no_answer(body: str) -> None:
    client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200, text=body)))
    with pytest.raises(Unavailable):
        TruthFeed("http://traffic", client).read(0, Objectives())


def test_a_generator_that_does_not_answer_is_unavailable() -> None:
    generator = Generator()
    generator.broken = True
    with pytest.raises(Unavailable):
        feed_of(generator).read(0, Objectives())


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ({"resultType": "vector", "result": []}, None),
        ({"resultType": "vector", "result": [{"metric": {}, "value": [1, "2.5"]}]}, 2.5),
        ({"resultType": "scalar", "result": [1, "7"]}, 7.0),
        ({"resultType": "vector", "result": [{"metric": {}, "value": [1, "NaN"]}]}, None),
    ],
)
def test_no_samples_and_nan_are_no_value(data: dict[str, Any], value: float | None) -> None:
    answer = httpx.Response(200, json={"status": "success", "data": data})
    client = httpx.Client(transport=httpx.MockTransport(lambda _: answer))
    assert Queries("http://prometheus", client).instant("up") == value


def test_the_worst_window_decides_about_the_effective_share() -> None:
    rows = traffic(60, change=lambda one, at: refused(one) if 30 <= at < 33 else one)
    report = probes.effective_share(SHARE, "during", truth(rows), [START + end for end in range(20, 60)])
    assert (report.good, report.worst, report.value) == (False, 0.7, 1.0)


def test_without_requests_nobody_can_tell() -> None:
    assert probes.effective_share(SHARE, "after", truth(traffic(10)), [START + 300]).good is None
    assert probes.first_token(FIRST, "during", truth(traffic(10)), START + 300, START + 400).good is None
    assert probes.within(PROM, "before", [None]).good is None


def test_a_request_that_still_waits_or_ended_without_a_token_counts_as_its_wait() -> None:
    quick = request(0, START, "zone-a")
    waiting = opened(request(1, START + 1, "zone-a"))
    timed_out = request(2, START, "zone-a", outcome="timeout", first_token_at=None, ended_at=START + 60)
    fast_error = refused(request(3, START, "zone-a"))

    def judged(*rows: Any, now: float) -> bool | None:
        return probes.first_token(FIRST, "during", truth(rows, now=now), START, START + 5).good

    assert judged(quick, fast_error, now=START + 20) is True
    assert judged(quick, waiting, now=START + 5) is None
    assert judged(quick, waiting, now=START + 12) is False
    assert judged(quick, timed_out, now=START + 70) is False


def test_a_query_outside_its_tolerance_breaks_the_hypothesis() -> None:
    report = probes.within(PROM, "during", [1.0, 5.0, 2.0])
    assert (report.good, report.worst, report.value) == (False, 5.0, 2.0)
