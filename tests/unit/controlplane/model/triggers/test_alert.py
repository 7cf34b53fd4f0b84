"""Alert triggers: Alertmanager's matchers over the labels behind an incident."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from controlplane.model.states import IncidentState
from controlplane.model.target import Signal
from controlplane.model.triggers.alert import AlertTrigger
from controlplane.model.triggers.base import Facts
from tests.unit.controlplane.decide.fleet import at
from tests.unit.controlplane.decide.verdicts import incident

LABELS = {"alertname": "TargetDown", "zone": "zone-a", "team": "llm"}


def trigger(*match: str) -> AlertTrigger:
    return AlertTrigger.model_validate({"type": "alert", "match": match})


@pytest.mark.parametrize(
    ("match", "fires"),
    [
        (['alertname="TargetDown"'], True),
        (['alertname="TargetDown"', 'zone=~"zone-(b|c)"'], False),
        (['team!~"db|web"'], True),
        (['alertname="Other"'], False),
    ],
)
def test_it_fires_when_one_alert_behind_the_incident_fulfils_all(match: list[str], fires: bool) -> None:
    found = incident(at("a"), name="TargetDown", kind="alert")
    other = {**LABELS, "alertname": "Nothing", "team": "db"}
    facts = Facts({}, {}, {found.signal: [other, LABELS]})
    assert trigger(*match).matches(found, facts) is fires
    assert trigger(*match).matches(found, Facts({}, {})) is False
    pending = found.model_copy(update={"state": IncidentState.PENDING})
    assert trigger(*match).matches(pending, facts) is False


def test_it_is_about_alerts_whose_name_fits() -> None:
    mine = trigger('alertname=~"Target.*"', 'zone="zone-a"')
    assert mine.answers(Signal("alert", "TargetDown", at("b"))) is True
    assert mine.answers(Signal("alert", "Other", at("a"))) is False
    assert mine.answers(Signal("slo", "TargetDown", at("a"))) is False


def test_a_wrong_matcher_is_refused() -> None:
    with pytest.raises(ValidationError, match="no matcher"):
        trigger("alertname")
    with pytest.raises(ValidationError, match="at least 1"):
        trigger()
