"""An objective that falls silent where traffic should flow is an incident of its own."""

from __future__ import annotations

from datetime import datetime, timedelta

from controlplane.decide.absence import absences
from controlplane.model.signals import Verdict
from controlplane.model.slo import Slo
from controlplane.model.target import Signal, Target
from tests.unit.controlplane.decide.fleet import AT, at
from tests.unit.controlplane.decide.verdicts import verdict

SLO = Slo.model_validate(
    {
        "kind": "SLO",
        "metadata": {"name": "chat-itl"},
        "spec": {
            "service": "chat",
            "indicator": "itl",
            "threshold": "50ms",
            "target": "95%",
            "noData": {"alertAfter": "60s"},
        },
    }
)


class Watch:
    def __init__(self) -> None:
        self.seen: dict[Signal, datetime] = {}

    def look(
        self, seconds: float, *, good: bool | None, takes: bool = True, target: Target | None = None
    ) -> list[Verdict]:
        found = verdict(target or at("a"), good=good)
        traffic = {found.signal.target: takes}
        return absences([SLO], [found], traffic, self.seen, AT + timedelta(seconds=seconds))


def test_silence_is_bad_after_its_time_and_not_before() -> None:
    watch = Watch()
    assert watch.look(0, good=True)[0].bad is False
    assert watch.look(59, good=None)[0].bad is False
    late = watch.look(61, good=None)[0]
    assert (late.bad, late.state.value, str(late.signal)) == (True, 61.0, f"noData:chat-itl@{at('a')}")


def test_a_new_leader_does_not_know_of_an_earlier_silence() -> None:
    watch = Watch()
    assert watch.look(1000, good=None)[0].bad is False


def test_silence_of_a_zone_without_traffic_is_expected() -> None:
    watch = Watch()
    watch.look(0, good=True)
    assert watch.look(100, good=None, takes=False)[0].bad is False


def test_events_end_it() -> None:
    watch = Watch()
    watch.look(0, good=True)
    watch.look(100, good=None)
    assert watch.look(102, good=False)[0].state.good is True


def test_narrow_targets_may_be_silent() -> None:
    assert Watch().look(0, good=None, target=at("a/a1/0")) == []
