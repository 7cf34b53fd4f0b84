"""Budgets as triggers: two bounds, nothing in between, and no guess where nothing was counted."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from controlplane.decide import look
from controlplane.decide.look import Look
from controlplane.decide.signals import Sight
from controlplane.model.signals import Verdict
from controlplane.model.target import Signal
from controlplane.model.triggers.budget import BudgetTrigger
from tests.unit.controlplane.decide.fleet import AT, SERVICE, at, topology
from tests.unit.controlplane.decide.measured import Filled
from tests.unit.controlplane.decide.verdicts import playbook


def measured(left: float | None) -> list[Verdict]:
    book = playbook(triggers=[{"type": "budget", "slo": "chat-itl", "left": 0, "restored": "10%"}])
    budgets = {} if left is None else {("chat-itl", SERVICE): left}
    return look.measured([book], Look(topology().targets(), Filled().measures, Sight(AT, ()), {}, budgets))


@pytest.mark.parametrize(
    ("left", "bad", "good"),
    [(-0.4, True, False), (0.0, True, False), (0.05, False, None), (0.1, False, True)],
)
def test_it_is_bad_when_spent_and_good_when_enough_is_back(left: float, bad: bool, good: bool | None) -> None:
    (one,) = measured(left)
    assert (one.bad, one.state.good, one.severity) == (bad, good, "ticket")
    assert str(one.signal) == "budget:chat-itl<0@chat/local"


def test_nothing_is_said_of_what_was_not_counted() -> None:
    assert measured(None) == []


def test_it_has_a_name_and_an_order() -> None:
    mine = BudgetTrigger.model_validate({"type": "budget", "slo": "chat-itl", "left": "20%", "restored": 0.5})
    assert mine.describe() == "budget:chat-itl<0.2"
    assert mine.answers(Signal("budget", "chat-itl<0.2", SERVICE)) is True
    assert mine.answers(Signal("budget", "chat-itl<0.2", at("a"))) is False
    with pytest.raises(ValidationError, match="must be more than"):
        BudgetTrigger.model_validate({"type": "budget", "slo": "s", "left": 0.2, "restored": 0.2})
