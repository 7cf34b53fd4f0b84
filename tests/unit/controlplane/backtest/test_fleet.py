"""The fleet as its scrapes showed it: who belongs to it, who is up, and what the zones' weights were."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from controlplane.backtest.fleet import GONE_AFTER, RecordedFleet
from controlplane.kernel.errors import FleetwardError
from controlplane.model.service import Service
from controlplane.observe.profile import shipped
from controlplane.observe.series import Row, Track

AT = datetime(2026, 1, 5, tzinfo=UTC)
STEP = 30.0
SPEC = {"model": "m", "zones": [{"name": "zone-a"}, {"name": "zone-b"}, {"name": "spare", "role": "standby"}]}
SERVICE = Service.model_validate({"kind": "Service", "metadata": {"name": "chat"}, "spec": SPEC})


@dataclass
class Script:
    """What each replica's last scrape gave, and the weights that were recorded."""

    up: dict[str, float] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)

    def poll(self, queries: Mapping[str, str], at: datetime) -> dict[str, list[Row] | FleetwardError]:
        rows = [
            Row({"zone": f"zone-{name[0]}", "node": f"node-{name[:2]}", "replica": name}, value)
            for name, value in self.up.items()
        ]
        weighed = [Row({"zone": zone}, value) for zone, value in self.weights.items()]
        return {name: rows if name == "up" else weighed for name in queries}

    def ranges(
        self, queries: Mapping[str, str], start: datetime, end: datetime, step: float
    ) -> dict[str, list[Track] | FleetwardError]:
        raise NotImplementedError


@dataclass
class Past:
    script: Script = field(default_factory=Script)
    now: datetime = AT

    def __post_init__(self) -> None:
        self.fleet = RecordedFleet(SERVICE, shipped()["vllm"], self.script, STEP)

    def look(self, seconds: float = STEP) -> None:
        for _ in range(round(seconds / STEP)):
            self.now += timedelta(seconds=STEP)
            self.fleet.look(self.now)

    def ready(self) -> dict[str, bool]:
        assert self.fleet.topology is not None
        return {view.name: view.ready for _, view in self.fleet.topology.replicas()}


@pytest.fixture
def past() -> Past:
    return Past(Script({"a1-0": 1.0, "a2-0": 1.0, "b1-0": 1.0}))


def test_who_was_scraped_is_the_fleet_and_who_did_not_answer_is_down(past: Past) -> None:
    past.script.up["a2-0"] = 0.0
    past.look()
    assert past.ready() == {"a1-0": True, "a2-0": False, "b1-0": True}
    assert past.fleet.topology is not None
    assert {node.name: node.ready for _, node in past.fleet.topology.nodes()} == {
        "node-a1": True,
        "node-a2": False,
        "node-b1": True,
    }
    assert [zone.name for zone in past.fleet.topology.zones] == ["zone-a", "zone-b", "spare"]
    assert past.fleet.source(past.now).state == "fresh"


def test_who_is_no_target_any_more_is_down_and_later_gone(past: Past) -> None:
    past.look()
    del past.script.up["b1-0"]
    past.look(GONE_AFTER - STEP)
    assert past.ready()["b1-0"] is False
    past.look()
    assert past.ready() == {"a1-0": True, "a2-0": True}
    past.script.up["b1-0"] = 1.0
    past.look()
    assert past.ready()["b1-0"] is True


def test_nobody_is_gone_while_nothing_is_scraped(past: Past) -> None:
    past.look()
    past.script.up.clear()
    past.look(3 * GONE_AFTER)
    assert past.ready() == {"a1-0": True, "a2-0": True, "b1-0": True}


def test_before_the_first_scrape_there_is_no_fleet() -> None:
    past = Past()
    past.look()
    assert past.fleet.topology is None
    assert past.fleet.source(past.now).state == "lost"


def test_weights_are_those_that_were_recorded_and_else_as_usual(past: Past) -> None:
    past.look()
    assert past.fleet.weights is not None
    assert past.fleet.weights.weights == {"zone-a": 100, "zone-b": 100, "spare": 0}
    assert not past.fleet.weighed
    past.script.weights = {"zone-a": 0.0, "spare": 50.0}
    past.look()
    assert past.fleet.weights.weights == {"zone-a": 0, "zone-b": 100, "spare": 50}
    assert past.fleet.weighed
