"""Alerts: where each belongs, and one signal for those of one name at one target."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from controlplane.decide import alerts
from controlplane.model.records import Alert
from controlplane.model.service import Service
from tests.unit.controlplane.decide.fleet import AT, ZONES, at, topology

TARGETS = topology().targets()
SERVICE = Service.model_validate(
    {
        "kind": "Service",
        "metadata": {"name": "chat"},
        "spec": {
            "model": "m",
            "zones": [{"name": zone} for zone in ZONES],
            "metricLabels": {"replica": "pod"},
        },
    }
)


def alert(name: str = "TargetDown", **labels: str) -> Alert:
    fields: dict[str, Any] = {"starts_at": AT - timedelta(minutes=1), "received_at": AT, "seen_at": AT}
    full = {"alertname": name, "service": "chat", **labels}
    print_ = "".join(sorted(full.values()))
    return Alert(fingerprint=print_, status="firing", labels=full, annotations={"summary": "down"}, **fields)


@pytest.mark.parametrize(
    ("labels", "target"),
    [
        ({}, "chat/local"),
        ({"zone": "zone-a"}, str(at("a"))),
        ({"zone": "zone-a", "node": "node-a1"}, str(at("a/a1"))),
        ({"node": "node-a1"}, str(at("a/a1"))),
        ({"pod": "replica-a1-0"}, str(at("a/a1/0"))),
        ({"zone": "zone-b", "node": "node-a1"}, str(at("b"))),
        ({"zone": "zone-z"}, "chat/local"),
        ({"zone": ""}, "chat/local"),
    ],
)
def test_an_alert_belongs_to_the_narrowest_part_that_its_labels_name(
    labels: dict[str, str], target: str
) -> None:
    assert str(alerts.place({"service": "chat", **labels}, SERVICE, TARGETS)) == target


@pytest.mark.parametrize("labels", [{}, {"service": "search"}, {"zone": "zone-a"}])
def test_an_alert_of_another_service_belongs_nowhere(labels: dict[str, str]) -> None:
    assert alerts.place(labels, SERVICE, TARGETS) is None


def judged(*found: Alert, open_signals: tuple[str, ...] = ()) -> dict[str, Any]:
    grouped = alerts.group(found, SERVICE, TARGETS)
    return {str(each.signal): each for each in alerts.verdicts(grouped, open_signals, AT, clients=True)}


def test_alerts_of_one_name_at_one_target_are_one_signal() -> None:
    found = judged(
        alert(zone="zone-a", job="x"), alert(zone="zone-a", job="y"), alert(zone="zone-b"), alert()
    )
    assert {name: each.state.value for name, each in found.items()} == {
        f"alert:TargetDown@{at('a')}": 2.0,
        f"alert:TargetDown@{at('b')}": 1.0,
        "alert:TargetDown@chat/local": 1.0,
    }
    one = found[f"alert:TargetDown@{at('a')}"]
    assert (one.bad, one.state.detail, one.state.clients_good, one.severity) == (True, "down", True, "page")


def test_an_open_incident_whose_alerts_have_ended_is_measured_as_good() -> None:
    name = f"alert:TargetDown@{at('a')}"
    found = judged(open_signals=(name, f"slo:chat-itl@{at('a')}"))
    assert {text: (each.bad, each.state.good) for text, each in found.items()} == {name: (False, True)}


def test_a_warning_is_a_ticket_unless_something_graver_stands_beside_it() -> None:
    mild, grave = alert(zone="zone-a", severity="warning"), alert(zone="zone-a", severity="critical")
    name = f"alert:TargetDown@{at('a')}"
    assert judged(mild)[name].severity == "ticket"
    assert judged(mild, grave)[name].severity == "page"


def test_a_name_that_would_break_a_signal_is_mended() -> None:
    assert list(judged(alert("Odd@Name:x"))) == ["alert:Odd_Name:x@chat/local"]
