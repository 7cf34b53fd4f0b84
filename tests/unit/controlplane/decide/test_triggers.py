"""Triggers: which playbooks an incident calls for, and when it counts as answered."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from controlplane.decide import look, triggers
from controlplane.decide.look import Look
from controlplane.decide.signals import Sight
from controlplane.decide.triggers import Candidate
from controlplane.model.records import Incident, Run
from controlplane.model.states import IncidentState, RunState
from controlplane.model.triggers.base import Facts
from tests.unit.controlplane.decide.fleet import AT, at, topology
from tests.unit.controlplane.decide.measured import Filled
from tests.unit.controlplane.decide.verdicts import canary, incident, playbook, run


def called(
    book: Any, *found: Incident, tiers: dict[str, tuple[str, ...]] | None = None, **canaries: Any
) -> list[str]:
    states = {str(at(name)): state for name, state in canaries.items()}
    facts = Facts(tiers or {}, states)
    return [each.incident.id for each in triggers.candidates([book], found, facts)]


def test_an_slo_trigger_wants_its_slo_its_level_a_firing_state_and_its_tier() -> None:
    book, zone = playbook(), incident(at("a"))
    assert called(book, zone) == [zone.id]
    assert called(book, incident(at("a/a1"))) == []
    assert called(book, incident(at("a"), name="chat-ttft")) == []
    assert called(book, incident(at("a"), IncidentState.PENDING)) == []
    assert called(book, incident(at("a"), tier="ticket")) == []


def test_a_tier_that_fires_later_calls_as_well() -> None:
    zone = incident(at("a"), tier="ticket")
    assert called(playbook(), zone, tiers={zone.signal: ("page", "ticket")}) == [zone.id]


def test_an_incident_trigger_waits_until_the_canary_was_good_for_long_enough() -> None:
    trigger = {"type": "incident", "state": "mitigated", "targetHealthyFor": "15s", "by": "zone"}
    book, zone = playbook(triggers=[trigger]), incident(at("a"), IncidentState.MITIGATED)
    assert called(book, zone, a=canary(True, 15)) == [zone.id]
    assert called(book, zone, a=canary(True, 14)) == []
    assert called(book, zone, a=canary(False, 99)) == []
    assert called(book, zone) == []


def test_a_threshold_trigger_wants_the_signal_that_is_named_by_its_bound() -> None:
    book = playbook(triggers=[{"type": "threshold", "indicator": "queue", "above": 50, "by": "replica"}])
    found = incident(at("a/a1/0"), name="queue>50", kind="threshold")
    assert called(book, found) == [found.id]
    assert called(book, incident(at("a/a1/0"), name="queue>60", kind="threshold")) == []


def test_a_manual_playbook_is_never_called() -> None:
    assert called(playbook(triggers=[{"type": "manual"}]), incident(at("a"))) == []


def test_a_playbook_is_called_once_for_an_incident_that_two_triggers_match() -> None:
    both = [
        {"type": "slo", "slo": "chat-itl", "by": "zone"},
        {"type": "incident", "state": "firing", "by": "zone"},
    ]
    assert len(called(playbook(triggers=both), incident(at("a")))) == 1


def answered(*runs: Run, throttle: dict[str, Any] | None = None, state: Any = IncidentState.FIRING) -> bool:
    spec: dict[str, Any] = {} if throttle is None else {"throttle": throttle}
    found = incident(at("a"), state, mitigated_at=AT if state is IncidentState.MITIGATED else None)
    book = playbook(**spec)
    return triggers.is_answered(Candidate(book, book.spec.triggers[0], found), runs)


def test_nobody_has_answered_yet() -> None:
    assert answered() is False


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.RUNNING, RunState.SUCCEEDED, RunState.CANCELLED])
def test_an_active_a_successful_and_a_cancelled_run_are_answers(state: RunState) -> None:
    assert answered(run(state), throttle={"onceWithin": "1m"}) is True


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.INCONCLUSIVE, RunState.SUPERSEDED])
def test_a_failed_try_is_tried_again_only_under_a_throttle(state: RunState) -> None:
    tried = run(state, started_at=AT)
    assert answered(tried) is True
    assert answered(tried, throttle={"onceWithin": "1m"}) is False


def test_a_run_that_gave_way_before_it_began_is_no_answer() -> None:
    assert answered(run(RunState.SUPERSEDED)) is False


def test_an_answer_to_an_earlier_turn_is_none_to_this_one() -> None:
    assert answered(run(RunState.SUCCEEDED, after=-60)) is False


def test_a_parent_is_answerable_when_a_trigger_names_its_signal_and_level() -> None:
    book = playbook()
    assert triggers.is_answerable(incident(at("a"), IncidentState.PENDING), [book]) is True
    assert triggers.is_answerable(incident(at("a/a1")), [book]) is False
    assert triggers.is_answerable(incident(at("a"), name="stalled>0.5", kind="threshold"), [book]) is False


def test_candidates_come_by_playbook_and_age() -> None:
    old, new = incident(at("b")), incident(at("a"), opened=AT + timedelta(seconds=2))
    assert called(playbook(), new, old) == [old.id, new.id]


def measured(gauges: dict[Any, float], fresh: set[str], **trigger: Any) -> dict[Any, Any]:
    filled = Filled()
    filled.measures.gauges = gauges
    book = playbook(triggers=[{"type": "threshold", "by": "replica", **trigger}])
    sight = Sight(AT, fresh, replicas=[at("a/a1/0")])
    found = look.measured([book], Look(topology().targets(), filled.measures, sight))
    return {verdict.signal.target: verdict for verdict in found}


def test_a_threshold_is_measured_at_every_target_of_its_level() -> None:
    gauges = {("queue", at("a/a1/0")): 60.0, ("queue", at("a/a1/1")): 50.0}
    found = measured(gauges, {"engine"}, indicator="queue", above=50)
    assert len(found) == 12
    assert (found[at("a/a1/0")].bad, found[at("a/a1/1")].bad) == (True, False)
    assert str(found[at("a/a1/0")].signal) == f"threshold:queue>50@{at('a/a1/0')}"
    assert found[at("b/b1/0")].state.good is None


def test_a_lower_bound_and_a_duration_are_kept() -> None:
    found = measured({("queue", at("a/a1/0")): 1.0}, {"engine"}, indicator="queue", below=2, **{"for": "10s"})
    assert (found[at("a/a1/0")].bad, found[at("a/a1/0")].hold) == (True, 10.0)


def test_a_threshold_without_sight_is_unknown() -> None:
    found = measured({("queue", at("a/a1/0")): 60.0}, set(), indicator="queue", above=50)
    assert (found[at("a/a1/0")].bad, found[at("a/a1/0")].blind) == (False, True)
