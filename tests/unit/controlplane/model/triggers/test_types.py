"""The shipped types in one line each: what they are called, and which signals they are about."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.model.target import Signal
from controlplane.model.triggers.base import Trigger
from controlplane.model.triggers.catalogue import installed
from tests.unit.controlplane.decide.fleet import at

ZONE, NODE = at("a"), at("a/a1")
CASES: list[tuple[dict[str, Any], str, Signal, Signal]] = [
    (
        {"type": "slo", "slo": "chat-itl"},
        "slo:chat-itl by zone",
        Signal("slo", "chat-itl", ZONE),
        Signal("slo", "chat-itl", NODE),
    ),
    (
        {"type": "threshold", "indicator": "queue", "below": 2, "by": "node"},
        "threshold:queue<2 by node",
        Signal("threshold", "queue<2", NODE),
        Signal("threshold", "queue>2", NODE),
    ),
    (
        {"type": "node", "for": "6s"},
        "node:not-ready",
        Signal("node", "not-ready", NODE),
        Signal("node", "not-ready", ZONE),
    ),
    (
        {"type": "incident", "state": "firing", "by": "node"},
        "incident:firing by node",
        Signal("slo", "anything", NODE),
        Signal("slo", "anything", ZONE),
    ),
]


def made(spec: dict[str, Any]) -> Trigger:
    return installed().get(spec["type"]).model_validate(spec)


@pytest.mark.parametrize(("spec", "name", "own", "other"), CASES)
def test_a_trigger_has_a_name_and_knows_its_signals(
    spec: dict[str, Any], name: str, own: Signal, other: Signal
) -> None:
    trigger = made(spec)
    assert trigger.describe() == name
    assert (trigger.answers(own), trigger.answers(other)) == (True, False)


def test_a_later_state_of_an_incident_does_not_make_it_answerable_while_it_fires() -> None:
    trigger = made({"type": "incident", "state": "mitigated", "by": "zone"})
    assert trigger.answers(Signal("slo", "chat-itl", ZONE)) is False


def test_manual_answers_nothing() -> None:
    assert made({"type": "manual"}).answers(Signal("slo", "chat-itl", ZONE)) is False
