"""Reading the past: in chunks that are bounded, only what is looked at, and never with something missing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.backtest import recording
from controlplane.backtest.needs import narrowed, needs_of, reduced
from controlplane.backtest.recording import Recording
from controlplane.backtest.span import Span, scrape_interval, tick_of
from controlplane.kernel.clock import from_unix
from controlplane.kernel.errors import InvalidInput, Unavailable
from controlplane.model.documents import load_bundle
from controlplane.model.playbook import Playbook
from controlplane.model.service import Service
from controlplane.model.slo import Slo
from controlplane.observe.profile import shipped
from controlplane.observe.series import Row
from tests.support.backtest_documents import DOCUMENTS
from tests.support.recorded_archive import Shelf
from tests.support.recorded_fleet import BEGIN, OFFSET, Planted
from tests.unit.controlplane.backtest.conftest import at, shelf

UP = {"up": 'min by (replica) (up{service="chat"})'}
BUNDLE = load_bundle([("d.yaml", DOCUMENTS)])
SERVICE = next(each.model for each in BUNDLE.loaded if isinstance(each.model, Service))
SLOS = [each.model for each in BUNDLE.loaded if isinstance(each.model, Slo)]


def taken(archive: Shelf, ticks: int, step: float = 30.0) -> list[object]:
    span = Span(BEGIN, BEGIN + (ticks - 1) * step)
    source = Recording(archive, span, step)
    return [source.poll(UP, from_unix(BEGIN + step * tick))["up"] for tick in range(ticks)]


def test_a_span_is_read_in_chunks_and_each_tick_has_its_rows() -> None:
    archive = shelf(60)
    answers = taken(archive, 100)
    assert archive.asked == [60, 40]
    assert all(isinstance(rows, list) and len(rows) == 6 for rows in answers)
    assert answers[0][0] == Row({"replica": "replica-a1-0"}, 1.0)  # type: ignore[index]


def test_a_chunk_is_as_long_as_its_samples_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "SAMPLES", 6 * 25)
    archive = shelf(60)
    taken(archive, 100)
    assert archive.asked == [60, 25, 15]


def test_a_chunk_that_is_too_large_for_the_server_is_made_smaller() -> None:
    archive = shelf(60)
    archive.failures = [InvalidInput("too many samples")] * 2
    taken(archive, 40)
    assert archive.asked[:3] == [40, 20, 10]


def test_what_cannot_be_read_ends_it() -> None:
    archive = shelf(10)
    archive.failures = [Unavailable("gone")]
    with pytest.raises(Unavailable):
        taken(archive, 5)
    archive.failures = [InvalidInput("no query")] * 9
    with pytest.raises(InvalidInput):
        taken(archive, 40)


def test_what_is_asked_later_is_read_for_the_rest_of_the_chunk() -> None:
    archive = shelf(60)
    source = Recording(archive, Span(BEGIN, archive.fleet.end), 30.0)
    source.poll(UP, from_unix(BEGIN))
    more = {"stamp": 'max by (replica) (timestamp(up{service="chat"}))'}
    rows = source.poll(more, from_unix(BEGIN + 300))["stamp"]
    assert isinstance(rows, list)
    assert rows[0].value == pytest.approx(BEGIN + 300 - OFFSET)
    source.poll(UP | more, from_unix(BEGIN + 60 * 30))
    assert archive.asked == [60, 60, 61]


def test_while_the_scraper_was_away_nothing_lingers() -> None:
    archive = shelf(30, [Planted("gap", at(), 300, 600)])
    beat = ("stamp", 'max by (replica) (timestamp(up{service="chat"}))')
    source = Recording(archive, Span(BEGIN, archive.fleet.end), 30.0, beat=beat)
    counts = []
    for tick in range(60):
        rows = source.poll(UP, from_unix(BEGIN + 30 * tick))["up"]
        assert isinstance(rows, list)
        counts.append(len(rows))
    assert counts == [6] * 13 + [0] * 18 + [6] * 29


def test_the_interval_is_that_of_most_samples() -> None:
    archive = shelf(60)
    assert scrape_interval(archive, 'up{service="chat"}', Span(BEGIN, archive.fleet.end)) == 30.0
    assert [tick_of(each) for each in (0.5, 2.0, 2.5, 15.0, 15.04)] == [2.0, 2.0, 3.0, 15.0, 15.0]


def test_a_span_is_of_the_past() -> None:
    now = datetime(2026, 1, 8, tzinfo=UTC)
    span = Span.of(now - timedelta(days=1), now + timedelta(days=1), now)
    assert span.end == now.timestamp()
    with pytest.raises(InvalidInput, match="no span of the past"):
        Span.of(now, now + timedelta(days=1), now)


def playbook(indicator: str) -> Playbook:
    trigger = {"type": "threshold", "indicator": indicator, "above": 1.0}
    steps = [{"id": "wait", "uses": "query.wait"}]
    body = {"kind": "Playbook", "metadata": {"name": "p"}, "spec": {"triggers": [trigger], "steps": steps}}
    return Playbook.model_validate(body)


def test_only_buckets_at_thresholds_are_needed_unless_somebody_wants_a_percentile() -> None:
    assert needs_of(SLOS, []) == {"itl": frozenset({0.05}), "ttft": frozenset({1.0})}
    assert needs_of(SLOS, [playbook("ttft_p95")]) == {"itl": frozenset({0.05}), "ttft": None}
    assert needs_of([], [playbook("queue")]) == {}
    assert needs_of([], [playbook("etpm_estimate")]).keys() == {"ttft", "tpot", "itl"}
    assert needs_of([], [playbook("sla_concurrency")]).keys() >= {"ttft", "tpot"}


def test_histograms_that_nobody_looks_at_are_not_read() -> None:
    (vllm,) = reduced({"vllm": shipped()["vllm"]}, {"itl": None}).values()
    kinds = {name for name, measure in vllm.measures.items() if measure.type == "histogram"}
    assert kinds == {"itl"}
    assert "generation_tokens" in vllm.measures


def test_a_query_is_narrowed_to_the_bounds_that_count_spelled_as_they_are() -> None:
    archive = shelf(10)
    profiles = reduced({"vllm": shipped()["vllm"]}, needs_of(SLOS, []))
    texts = narrowed(archive, SERVICE, profiles.values(), needs_of(SLOS, []), Span(BEGIN, archive.fleet.end))
    assert sorted(text.partition("le=~")[2] for text in texts.values()) == [
        '"\\\\+Inf|0\\\\.05"})',
        '"\\\\+Inf|1\\\\.0"})',
    ]
