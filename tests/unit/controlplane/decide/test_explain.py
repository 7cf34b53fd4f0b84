"""Why: the last decision of each playbook about a target or an incident, in plain words."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from controlplane.decide.explain import explain, why
from controlplane.model.records import Decision, GuardVerdict, Verdict
from tests.unit.controlplane.decide.fleet import AT, SERVICE, at
from tests.unit.controlplane.decide.verdicts import incident


def decision(number: int, outcome: Any = "refused", target: str = str(at("a")), **more: Any) -> Decision:
    moment = AT + timedelta(seconds=number)
    guards = (
        GuardVerdict(guard="halt", verdict=Verdict.ALLOW, message="no halt is in force here"),
        GuardVerdict(
            guard="storm", verdict=Verdict.REFUSE, message="all 3 zones are bad", values={"zones": 3}
        ),
    )
    values: dict[str, Any] = {"guards": guards, "incident": "inc-1", **more}
    return Decision(
        id=f"dec-{number}",
        at=moment,
        last_at=moment,
        playbook="zone-failover",
        trigger="slo",
        target=target,
        outcome=outcome,
        **values,
    )


def test_the_last_decision_of_a_playbook_speaks_with_its_guards() -> None:
    found = explain(str(at("a")), [], [decision(1), decision(2, "queued")])
    assert [(each.outcome, each.why) for each in found.playbooks] == [
        ("queued", "storm: all 3 zones are bad")
    ]
    assert found.playbooks[0].guards[1].values == {"zones": 3}


def test_a_wide_target_explains_its_parts_and_not_its_neighbours() -> None:
    decisions = [decision(1), decision(2, target=str(at("b")))]
    assert len(explain(str(SERVICE), [], decisions).playbooks) == 2
    assert [each.target for each in explain(str(at("b")), [], decisions).playbooks] == [str(at("b"))]


def test_an_incident_is_explained_by_its_id() -> None:
    found = incident(at("a"), value=0.2, objective=0.95, detail="0.2 against 0.95")
    told = explain(found.id, [found, incident(at("b"))], [decision(1, incident=found.id)])
    assert len(told.incidents) == 1
    assert "chat-itl at zone-a, 0.2 against 0.95" in told.incidents[0]
    assert len(told.playbooks) == 1


def test_a_run_and_a_condition_that_did_not_match_have_their_words() -> None:
    allowed = (GuardVerdict(guard="halt", verdict=Verdict.ALLOW, message="none"),)
    assert why(decision(1, "run", guards=allowed, run="run-1")) == "all 1 guards allowed it"
    assert why(decision(1, "notMatched", guards=allowed, values={"reason": "`x` is false"})) == "`x` is false"


def test_nothing_known_is_said_to_be_nothing() -> None:
    assert explain(str(at("c")), [], [decision(1)]).is_empty is True
