"""Alertmanager's alerts through the loop: incidents, playbooks, and ends that are sent or never sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from controlplane.controller import alerting
from controlplane.kernel.errors import Unavailable
from controlplane.model.records import Alert
from controlplane.model.states import IncidentState, RunState
from controlplane.observe.alertmanager import Standing
from tests.scenarios.loop_world import DOCUMENTS, World
from tests.unit.controlplane.decide.fleet import at

PLAYBOOK = """
---
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: on-alert}
spec:
  triggers:
    - {type: alert, match: ['alertname="HighErrors"', 'zone=~"zone-(a|b)"']}
  steps:
    - {id: wait, uses: query.wait, with: {query: "vector(1)", condition: result > 0}}
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, documents=DOCUMENTS + PLAYBOOK)
    made.run(20)
    return made


def take(world: World, status: str = "firing", *, zone: str = "zone-a", name: str = "HighErrors") -> Alert:
    now = world.clock.now()
    found = Alert.model_validate(
        {
            "fingerprint": f"{name}{zone}".encode().hex()[:16],
            "starts_at": "2026-01-01T00:00:00Z",
            "status": status,
            "labels": {"alertname": name, "service": "chat", "zone": zone, "severity": "page"},
            "received_at": now,
            "seen_at": now,
        }
    )
    with world.database.transaction() as tx:
        tx.alerts.take(found)
    return found


def states(world: World) -> list[IncidentState]:
    return [each.state for each in world.incidents() if each.signal.startswith("alert:")]


def test_an_alert_is_an_incident_within_two_ticks_and_calls_its_playbook_once(world: World) -> None:
    take(world)
    waited = world.run_until(lambda: world.runs("on-alert"), 8)
    assert waited <= 6
    take(world)
    world.run(20)
    (incident,) = world.incidents()
    assert (incident.signal, incident.tier) == (f"alert:HighErrors@{at('a')}", "alert")
    (run,) = world.runs("on-alert")
    assert (run.target, run.state, run.incident) == (str(at("a")), RunState.SUCCEEDED, incident.id)


@pytest.mark.parametrize(("name", "zone"), [("HighErrors", "zone-c"), ("Other", "zone-a")])
def test_an_alert_that_no_trigger_matches_is_an_incident_all_the_same(
    world: World, name: str, zone: str
) -> None:
    take(world, name=name, zone=zone)
    world.run(10)
    assert states(world) == [IncidentState.FIRING]
    assert world.runs("on-alert") == []


def test_the_end_that_is_sent_resolves_the_incident_once_the_canary_was_good(world: World) -> None:
    take(world)
    world.run(10)
    take(world, "resolved")
    world.run(60)
    assert states(world) == [IncidentState.RESOLVED]


Listed = Callable[[], Sequence[Standing]]


class Listing:
    """An Alertmanager whose list the test writes."""

    def __init__(self, listed: Listed) -> None:
        self.listed = listed

    def standing(self) -> Sequence[Standing]:
        return self.listed()


def compare(world: World, listed: Listed) -> int:
    world.clock.advance(alerting.SETTLED.total_seconds())
    world.controller._parts = replace(world.controller._parts, alertmanager=Listing(listed))
    world.step()
    return world.controller.compare_alerts()


def test_a_silenced_alert_ends_here_and_comes_back_with_the_next_message(world: World) -> None:
    alert = take(world)
    world.run(10)
    assert compare(world, lambda: [Standing(alert.fingerprint, alert.starts_at, suppressed=False)]) == 0
    assert compare(world, lambda: [Standing(alert.fingerprint, alert.starts_at, suppressed=True)]) == 1
    world.run(60)
    assert states(world) == [IncidentState.RESOLVED]
    take(world)
    world.run(10)
    assert states(world) == [IncidentState.RESOLVED, IncidentState.FIRING]


def test_an_alert_that_is_listed_no_more_ends_and_a_new_one_of_its_labels_is_another(world: World) -> None:
    alert = take(world)
    world.run(10)
    later = alert.starts_at + timedelta(hours=1)
    assert compare(world, lambda: [Standing(alert.fingerprint, later, suppressed=False)]) == 1


def test_without_an_answer_everything_stays(world: World) -> None:
    def silent() -> Sequence[Standing]:
        msg = "no answer"
        raise Unavailable(msg)

    take(world)
    world.run(10)
    with pytest.raises(Unavailable):
        compare(world, silent)
    world.run(10)
    assert states(world) == [IncidentState.FIRING]


def test_a_message_that_is_newer_than_the_list_can_be_is_left_alone(world: World) -> None:
    alert = take(world)
    assert alerting.ended([alert], [], world.clock.now()) == []
