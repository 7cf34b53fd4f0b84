"""One service observed tick by tick: fresh, stale and lost sources, and history rebuilt."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest

from controlplane.kernel.errors import FleetwardError, Unavailable
from controlplane.model.query import KEY_PREFIX, Query
from controlplane.model.slo import Slo
from controlplane.model.topology import Weights
from controlplane.observe.measures import Ask
from controlplane.observe.observer import Observation, Observer
from controlplane.observe.probes import ProbeBook
from controlplane.observe.profile import shipped
from controlplane.observe.series import Row, Track
from tests.unit.controlplane.decide.fleet import AT, ZONES, at, topology
from tests.unit.controlplane.decide.measured import SERVICE

REPLICA = at("a/a1/0")
LABELS = {"zone": "zone-a", "node": "node-a1", "replica": "replica-a1-0"}
TOKENS = {"__name__": "vllm:generation_tokens_total", **LABELS}
UNSEEN = [target for target in topology().targets() if target.level == "replica" and target != REPLICA]
"""Replicas that the scripted cluster does not know: not ready."""
WEIGHTS = Weights(version="1", weights=dict.fromkeys(ZONES, 100))


class Script:
    """A source that answers what a test sets: tokens counted so far, the last scrape's age, failures."""

    def __init__(self) -> None:
        self.tokens = 0.0
        self.scrape_age: float | None = 0.2
        self.failing: set[str] = set()
        self.polled_at: datetime | None = None
        self.history: list[Track] = []
        self.own: dict[str, float] = {}
        """What an objective's own query gives: events and errors a second."""

    def poll(self, queries: Mapping[str, str], at: datetime) -> dict[str, list[Row] | FleetwardError]:
        self.polled_at = at
        return {
            name: Unavailable("no answer") if name in self.failing else self._rows(name, at)
            for name in queries
        }

    def ranges(
        self, queries: Mapping[str, str], start: datetime, end: datetime, step: float
    ) -> dict[str, list[Track] | FleetwardError]:
        within = (start.timestamp(), end.timestamp())
        tracks = [
            Track(each.labels, tuple(point for point in each.points if within[0] <= point[0] <= within[1]))
            for each in self.history
        ]
        found: dict[str, list[Track] | FleetwardError] = {}
        for name in queries:
            own = self.own.get(name.rpartition("/")[2]) if name.startswith(KEY_PREFIX) else None
            if own is None:
                found[name] = tracks if name == "vllm/4" else Unavailable("no answer")
            else:
                found[name] = [Track({}, tuple((point, own) for point in _points(within, step)))]
        return found

    def _rows(self, name: str, at: datetime) -> list[Row]:
        if self.scrape_age is None:
            return []
        match name:
            case "up":
                return [Row(LABELS, 1.0)]
            case "scraped_at":
                return [Row(LABELS, at.timestamp() - self.scrape_age)]
            case "vllm/4":
                return [Row(TOKENS, self.tokens)]
            case "kube-state-metrics/0":
                return [Row({"__name__": "kube_pod_status_ready", "pod": "replica-a1-0"}, 1.0)]
            case "envoy/0":
                labels = {"zone": "zone-a", "envoy_response_code_class": "2"}
                return [Row({"__name__": "envoy_cluster_upstream_rq_xx", **labels}, 1.0)]
        own = self.own.get(name.rpartition("/")[2]) if name.startswith(KEY_PREFIX) else None
        return [] if own is None else [Row({}, own)]


def _points(within: tuple[float, float], step: float) -> list[float]:
    return [within[0] + step * count for count in range(int((within[1] - within[0]) // step) + 1)]


class Watch:
    def __init__(self, lag: float = 0.0) -> None:
        self.script = Script()
        self.observer = Observer(SERVICE, self.script, shipped(), ProbeBook(SERVICE.spec), lag=lag)
        self.now = AT

    def tick(self, tokens: float = 0.0, weights: Weights = WEIGHTS) -> Observation:
        self.now += timedelta(seconds=2)
        self.script.tokens += tokens
        return self.observer.observe(self.now, topology(), weights)

    def state(self, found: Observation, source: str) -> str | None:
        return next((state.state for state in found.sources if state.name == source), None)


def test_counters_become_rates() -> None:
    watch = Watch()
    for _ in range(6):
        watch.tick(500)
    assert watch.observer.measures.value("tokens_per_second", REPLICA) == 250.0


def test_it_looks_behind_now_and_says_so() -> None:
    watch = Watch(lag=0.3)
    found = watch.tick()
    assert (found.at - found.evaluated_at).total_seconds() == 0.3
    assert watch.script.polled_at == found.evaluated_at


def test_a_failed_query_makes_its_source_stale_then_lost_and_no_other() -> None:
    watch = Watch()
    watch.tick()
    watch.script.failing = {"vllm/4"}
    found = watch.tick()
    assert (watch.state(found, "engine"), watch.state(found, "cluster")) == ("stale", "fresh")
    for _ in range(16):
        found = watch.tick()
    assert watch.state(found, "engine") == "lost"
    watch.script.failing = set()
    assert watch.state(watch.tick(), "engine") == "fresh"


def test_an_old_scrape_is_not_fresh() -> None:
    watch = Watch()
    watch.tick()
    watch.script.scrape_age = 7.0
    found = watch.tick()
    assert watch.state(found, "engine") == "stale"
    assert found.states["availability"] == {REPLICA: True, **dict.fromkeys(UNSEEN, False)}


def test_an_empty_answer_says_nothing_of_the_fleet() -> None:
    watch = Watch()
    watch.tick()
    watch.script.scrape_age = None
    found = watch.tick()
    assert watch.state(found, "engine") == "stale"
    assert found.states == {}


def test_optional_sources_are_shown_only_when_they_were_seen() -> None:
    watch = Watch()
    assert watch.state(watch.tick(), "gpu") is None
    assert "gpu" not in watch.observer.needed


def test_what_an_evacuated_zone_does_is_not_the_services() -> None:
    watch = Watch()
    away = Weights(version="2", weights={**WEIGHTS.weights, "zone-a": 0})
    for _ in range(6):
        watch.tick(500, away)
    assert watch.observer.measures.value("tokens_per_second", at("a")) == 250.0
    assert watch.observer.measures.value("tokens_per_second", SERVICE.target) == 0.0


def test_history_is_rebuilt_so_that_windows_are_warm_at_once() -> None:
    watch = Watch()
    begin = AT.timestamp() - 30
    watch.script.history = [Track(TOKENS, tuple((begin + 2 * n, 500.0 * n) for n in range(16)))]
    watch.observer.rebuild(AT, topology(), WEIGHTS)
    assert watch.observer.measures.store.covered(10.0) == 10.0
    assert watch.observer.measures.value("tokens_per_second", REPLICA) == 250.0


def test_a_source_without_history_leaves_a_young_one() -> None:
    watch = Watch()
    watch.observer.rebuild(AT, topology(), WEIGHTS)
    assert watch.observer.measures.store.covered(10.0) == 0.0
    watch.tick(500)
    assert watch.observer.measures.value("tokens_per_second", REPLICA) is None


OWN = Slo.model_validate(
    {
        "kind": "SLO",
        "metadata": {"name": "own"},
        "spec": {
            "service": "chat",
            "indicator": {"bad": "sum(rate(bad[{{ window }}]))", "total": "sum(rate(all[{{ window }}]))"},
            "target": "99%",
        },
    }
)


def counted(watch: Watch, window: float) -> tuple[float, float]:
    found = watch.observer.measures.counts([Ask(OWN.spec.measure, SERVICE.target)], [window])
    return float(found.good[0, 0]), float(found.total[0, 0])


def test_an_objectives_own_query_is_observed_beside_the_rest() -> None:
    assert isinstance(OWN.spec.indicator, Query)
    watch = Watch()
    watch.observer.want([OWN])
    watch.script.own = {"events": 10.0, "errors": 1.0}
    for _ in range(60):
        found = watch.tick()
    good, total = counted(watch, 90)
    assert good / total == pytest.approx(0.9)
    assert total == pytest.approx(900, rel=0.2)
    assert found.queried == {OWN.spec.measure}
    watch.script.own = {}
    for _ in range(30):
        found = watch.tick()
    assert (found.queried, counted(watch, 30)) == (frozenset(), (0.0, 0.0))


def test_an_objectives_own_query_has_a_past_after_a_take_over() -> None:
    watch = Watch()
    watch.script.own = {"events": 10.0, "errors": 1.0}
    watch.observer.want([OWN])
    watch.observer.rebuild(watch.now, topology(), WEIGHTS)
    watch.tick()
    while watch.observer.warming:
        watch.observer.catch_up()
    good, total = counted(watch, 2 * 3600.0)
    assert total == pytest.approx(72000, rel=0.15)
    assert good / total == pytest.approx(0.9)
