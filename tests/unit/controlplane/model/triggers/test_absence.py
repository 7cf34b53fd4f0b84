"""Absence: a target's own silence fires, the observer's never does."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from controlplane.decide import look
from controlplane.decide.look import Look
from controlplane.decide.signals import Sight
from controlplane.model.signals import Verdict
from controlplane.model.target import Signal
from controlplane.model.triggers.absence import AbsenceTrigger
from tests.unit.controlplane.decide.fleet import AT, at, topology
from tests.unit.controlplane.decide.measured import Filled
from tests.unit.controlplane.decide.verdicts import playbook

NODES = [at(f"{zone}/{zone}{number}") for zone in "abc" for number in (1, 2)]
ALL = {("gpu_use", node): 0.5 for node in NODES}


def measured(gauges: dict[Any, float], fresh: set[str]) -> dict[Any, Verdict]:
    filled = Filled()
    filled.measures.gauges = gauges
    book = playbook(triggers=[{"type": "absence", "of": "gpu_use", "for": "1m"}])
    found = look.measured([book], Look(topology().targets(), filled.measures, Sight(AT, fresh)))
    return {verdict.signal.target: verdict for verdict in found}


def test_the_one_target_that_lost_its_own_is_bad_after_its_time() -> None:
    found = measured({key: value for key, value in ALL.items() if key[1] != NODES[0]}, {"gpu"})
    assert sorted(map(str, found)) == sorted(map(str, NODES))
    assert [target for target, each in found.items() if each.bad] == [NODES[0]]
    assert (found[NODES[0]].hold, found[NODES[1]].state.good) == (60.0, True)
    assert "5 others have it" in found[NODES[0]].state.detail


def test_a_lost_source_is_unknown_everywhere() -> None:
    found = measured(ALL, set())
    assert {(each.bad, each.blind, each.state.good) for each in found.values()} == {(False, True, None)}


def test_what_nobody_has_is_the_observers_fault() -> None:
    found = measured({}, {"gpu"})
    assert {(each.bad, each.blind) for each in found.values()} == {(False, True)}


def test_it_is_about_its_indicator_at_its_level() -> None:
    mine = AbsenceTrigger.model_validate({"type": "absence", "of": "gpu_use"})
    assert mine.describe() == "absence:gpu_use by node"
    assert mine.answers(Signal("absence", "gpu_use", NODES[0])) is True
    assert mine.answers(Signal("absence", "gpu_use", at("a"))) is False


SOURCES = {"engine": "fresh", "gateway": "fresh", "platform": "fresh"}


def sight(which: str, sources: dict[str, str]) -> Verdict:
    book = playbook(triggers=[{"type": "absence", "sources": which, "for": "6s"}])
    seen = Look(topology().targets(), Filled().measures, Sight(AT, set()), sources)
    (found,) = look.measured([book], seen)
    return found


def test_the_observers_own_silence_fires_at_the_service_and_is_no_blindness() -> None:
    one = sight("any", {**SOURCES, "engine": "stale"})
    assert str(one.signal) == "absence:sources-any@chat/local"
    assert (one.bad, one.blind, one.hold) == (True, False, 6.0)
    assert one.state.detail == "engine is stale"
    assert not sight("all", {**SOURCES, "engine": "stale"}).bad
    assert sight("all", dict.fromkeys(SOURCES, "lost")).bad
    assert sight("any", SOURCES).state.good is True


@pytest.mark.parametrize(
    "spec",
    [{}, {"of": "gpu_use", "sources": "any"}, {"sources": "any", "by": "zone"}],
)
def test_it_is_about_one_of_the_two(spec: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AbsenceTrigger.model_validate({"type": "absence", **spec})
