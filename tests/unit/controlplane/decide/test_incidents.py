"""The states of incidents: hysteresis both ways, mitigated, resolved, and unknown when blind."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.decide import incidents
from controlplane.decide.incidents import Circumstances, Memory
from controlplane.model.signals import CanaryState, Verdict
from controlplane.model.states import IncidentState, check_move
from controlplane.model.target import Target
from tests.unit.controlplane.decide.fleet import AT, SERVICE, at
from tests.unit.controlplane.decide.verdicts import canary, incident, verdict

TICK = 2.0
PENDING, FIRING, MITIGATED, RESOLVED, UNKNOWN = (
    IncidentState.PENDING,
    IncidentState.FIRING,
    IncidentState.MITIGATED,
    IncidentState.RESOLVED,
    IncidentState.UNKNOWN,
)


class Story:
    """One incident over ticks; a move that the tables do not allow fails the test."""

    def __init__(self, target: Target | None = None) -> None:
        self.target = at("a") if target is None else target
        self.memory = Memory()
        self.now = AT
        self.state: IncidentState | None = None
        self.fired = False
        self.reason = ""

    def tick(
        self,
        *,
        confirmed: bool = False,
        takes_traffic: bool | None = True,
        out: bool = False,
        isolated: bool = False,
        canary: CanaryState | None = None,
        refuses: tuple[str, ...] = (),
        **what: Any,
    ) -> IncidentState | None:
        self.now += timedelta(seconds=TICK)
        seen = verdict(self.target, **what)
        if self.state is None or self.state is RESOLVED:
            if not seen.bad:
                return self.state
            self.memory, self.fired = Memory(), False
            self._become(PENDING)
        self.memory.take(seen, self.now)
        self._move(seen, Circumstances(self.now, confirmed, takes_traffic, isolated, out, canary, refuses))
        return self.state

    def ticks(self, count: int, **what: Any) -> IncidentState | None:
        for _ in range(count):
            self.tick(**what)
        return self.state

    def _move(self, seen: Verdict, around: Circumstances) -> None:
        for _ in range(5):
            assert self.state is not None
            step = incidents.next_state(self.state, seen, self.memory, around, fired=self.fired)
            if step is None:
                return
            self._become(check_move(self.state, step.state))
            self.reason = step.reason
            if self.state is RESOLVED:
                return
        raise AssertionError(self.state)

    def _become(self, new: IncidentState) -> None:
        vars(self)["state"] = new
        self.fired = self.fired or new is FIRING


def test_one_bad_tick_is_pending_and_two_are_firing() -> None:
    story = Story()
    assert story.tick(bad=True) is PENDING
    assert story.tick(bad=True) is FIRING


def test_a_second_witness_makes_it_fire_at_once() -> None:
    story = Story()
    assert story.tick(bad=True, confirmed=True) is FIRING
    assert story.reason.endswith("(two sources agree)")


def test_what_does_not_last_was_nothing() -> None:
    story = Story()
    story.tick(bad=True)
    assert story.tick(good=True) is PENDING
    assert story.tick(good=True) is RESOLVED
    assert story.fired is False


def test_bad_and_well_by_turns_does_not_fire() -> None:
    story = Story()
    for _ in range(5):
        story.tick(bad=True)
        story.tick(good=True)
    assert story.fired is False


def test_a_threshold_with_a_duration_waits_for_it() -> None:
    story = Story()
    story.ticks(5, bad=True, hold=10.0, confirmed=True)
    assert story.state is PENDING
    assert story.tick(bad=True, hold=10.0, confirmed=True) is FIRING


def test_an_evacuated_zone_is_mitigated_when_the_clients_are_well_at_two_ticks() -> None:
    story = Story()
    story.ticks(2, bad=True, clients=False)
    assert story.tick(bad=True, takes_traffic=False, clients=False) is FIRING
    assert story.tick(bad=True, takes_traffic=False) is FIRING
    assert story.tick(bad=True, takes_traffic=False) is MITIGATED


def test_clients_that_are_well_while_the_zone_has_traffic_do_not_mitigate_it() -> None:
    story = Story()
    assert story.ticks(10, bad=True, clients=True) is FIRING


def test_a_mitigated_zone_is_resolved_by_canary_and_traffic_together() -> None:
    story = Story()
    story.ticks(2, bad=True)
    story.ticks(2, bad=True, takes_traffic=False)
    assert story.tick(takes_traffic=False, canary=canary(True, 60)) is MITIGATED
    assert story.tick(takes_traffic=True, canary=canary(True, 20)) is MITIGATED
    assert story.tick(takes_traffic=True, canary=canary(True, 60), out=True) is MITIGATED
    assert story.tick(takes_traffic=True, canary=canary(True, 60)) is RESOLVED


def test_a_zone_that_is_bad_with_its_traffic_back_fires_again() -> None:
    story = Story()
    story.ticks(2, bad=True)
    story.ticks(2, bad=True, takes_traffic=False)
    story.tick(good=True, takes_traffic=False)
    assert story.ticks(2, bad=True, clients=False) is FIRING


def test_a_zone_that_heals_by_itself_needs_half_a_minute_of_its_canary() -> None:
    story = Story()
    story.ticks(2, bad=True)
    assert story.ticks(20, good=True, canary=canary(False)) is FIRING
    assert story.tick(good=True, canary=canary(True, 29)) is FIRING
    assert story.tick(good=True, canary=canary(True, 30)) is RESOLVED


def test_without_a_canary_the_signal_speaks_for_as_long() -> None:
    story = Story()
    story.ticks(2, bad=True)
    assert story.ticks(15, good=True) is FIRING
    assert story.tick(good=True) is RESOLVED


def test_nothing_is_over_while_the_windows_are_warming() -> None:
    """One that only came up may be nothing, and one that fires may be well: both are told later."""
    at_once = Circumstances(AT, warming=True)
    memory = incidents.Memory()
    for tick in range(30):
        memory.take(verdict(good=True), AT + timedelta(seconds=2 * tick))
    late = AT + timedelta(seconds=60)
    for state in (PENDING, FIRING):
        warm, warming = replace(at_once, now=late, warming=False), replace(at_once, now=late)
        step = incidents.next_state(state, verdict(good=True), memory, warm, fired=True)
        assert step is not None
        assert step.state is RESOLVED
        assert incidents.next_state(state, verdict(good=True), memory, warming, fired=True) is None


def test_a_replica_in_rotation_is_resolved_when_well_for_a_few_ticks() -> None:
    story = Story(at("a/a1/0"))
    story.ticks(2, bad=True)
    assert story.ticks(4, bad=True, takes_traffic=False) is FIRING
    assert story.ticks(3, good=True, canary=canary(True, 1)) is FIRING
    assert story.tick(good=True, canary=canary(True, 1)) is RESOLVED


def test_the_service_does_not_wait_for_the_canary_of_an_evacuated_zone() -> None:
    story = Story(SERVICE)
    story.ticks(2, bad=True)
    assert story.ticks(4, good=True, canary=canary(False)) is RESOLVED


def test_too_little_data_neither_fires_nor_heals() -> None:
    story = Story()
    story.ticks(2, bad=True)
    assert story.ticks(60) is FIRING


def test_blind_is_unknown_and_nothing_else_until_sight_comes_back() -> None:
    story = Story()
    story.ticks(2, bad=True)
    assert story.ticks(30, blind=True, canary=canary(True, 99)) is UNKNOWN
    assert story.tick(bad=True) is UNKNOWN
    assert story.tick(bad=True) is FIRING


def test_what_was_only_pending_comes_back_as_pending() -> None:
    story = Story()
    story.tick(bad=True)
    story.tick(blind=True)
    assert story.tick(bad=True) is PENDING


def test_an_incident_of_a_mitigated_zone_comes_back_mitigated() -> None:
    story = Story()
    story.ticks(2, bad=True)
    story.ticks(2, bad=True, takes_traffic=False)
    story.tick(blind=True, takes_traffic=False)
    assert story.ticks(2, bad=True, takes_traffic=False) is MITIGATED


LOOKS = st.fixed_dictionaries(
    {
        "look": st.sampled_from(["bad", "good", "none", "blind"]),
        "confirmed": st.booleans(),
        "takes_traffic": st.sampled_from([True, False, None]),
        "out": st.booleans(),
        "isolated": st.booleans(),
        "clients": st.sampled_from([True, False, None]),
        "canary": st.sampled_from([None, canary(None), canary(False), canary(True, 5), canary(True, 60)]),
    }
)


@settings(max_examples=60)
@given(st.lists(LOOKS, max_size=30), st.sampled_from([at("a"), at("a/a1"), at("a/a1/0"), SERVICE]))
def test_any_story_keeps_the_rules(looks: list[dict[str, Any]], target: Target) -> None:
    story = Story(target)
    bad_before = False
    for look in looks:
        kind = look.pop("look")
        words: dict[str, Any] = {
            "bad": {"bad": True},
            "good": {"good": True},
            "none": {},
            "blind": {"blind": True},
        }[kind]
        before = story.state
        after = story.tick(**look, **words)
        if kind == "blind":
            assert after in {None, RESOLVED, UNKNOWN}
            assert (after is RESOLVED) <= (before is RESOLVED)
        if after is FIRING and before is not FIRING:
            assert kind == "bad"
            assert bad_before or look["confirmed"]
        if after is RESOLVED and before not in {RESOLVED, PENDING, UNKNOWN}:
            assert kind != "bad"
        if after is MITIGATED and before is not MITIGATED:
            kept_away = look["isolated"] if target.level == "replica" else not look["takes_traffic"]
            assert (kept_away, look["clients"]) == (True, True)
        bad_before = kind == "bad"


def calm_after(*looks: dict[str, Any]) -> list[float | None]:
    """Return after each look for how many seconds the signal is said to be calm, None for not."""
    memory, one, now = Memory(), incident(at("a")), AT
    found: list[float | None] = []
    for look in looks:
        now += timedelta(seconds=TICK)
        event = look.pop("event", False)
        seen = replace(verdict(at("a"), **look), event=event)
        memory.take(seen, now)
        since = incidents.measured(one, seen, memory)["calm_since"]
        one = one.model_copy(update={"calm_since": since})
        found.append((now - one.calm_since).total_seconds() if one.calm_since else None)
    return found


def test_a_signal_is_calm_when_it_was_bad_at_none_of_three_ticks() -> None:
    looks = [{"bad": True}, {"good": True}, {"good": True}, {"good": True}, {"good": True}]
    assert calm_after(*looks) == [None, None, None, 4.0, 6.0]


def test_no_data_is_no_trouble_and_the_next_bad_tick_ends_the_calm() -> None:
    assert calm_after({"bad": True}, {}, {}, {}, {"bad": True}) == [None, None, None, 4.0, None]


def test_who_does_not_see_calls_nothing_calm() -> None:
    assert calm_after({"bad": True}, {"good": True}, {}, {"blind": True}, {"good": True}) == [None] * 5


def test_what_has_happened_does_not_become_calm() -> None:
    assert calm_after(*({"good": True, "event": True} for _ in range(5))) == [None] * 5


class TestAnIsolatedReplica:
    """Out of rotation it is what an evacuated zone is: mitigated, and resolved when it is back and good."""

    @staticmethod
    def isolated() -> Story:
        story = Story(at("a/a1/0"))
        story.ticks(2, bad=True)
        assert story.ticks(2, bad=True, isolated=True, takes_traffic=False) is MITIGATED
        return story

    def test_it_is_mitigated_when_the_clients_are_well(self) -> None:
        story = Story(at("a/a1/0"))
        story.ticks(2, bad=True, clients=False)
        assert story.tick(bad=True, isolated=True, clients=False) is FIRING
        assert story.ticks(2, bad=True, isolated=True) is MITIGATED

    def test_one_that_is_down_or_whose_zone_is_evacuated_is_not(self) -> None:
        story = Story(at("a/a1/0"))
        assert story.ticks(10, bad=True, takes_traffic=False) is FIRING

    def test_it_is_not_resolved_while_it_is_out_however_good(self) -> None:
        story = self.isolated()
        assert story.ticks(30, good=True, isolated=True, canary=canary(True, 90)) is MITIGATED

    def test_back_in_rotation_it_takes_half_a_minute_of_its_canary(self) -> None:
        story = self.isolated()
        assert story.tick(good=True, canary=canary(True, 20)) is MITIGATED
        assert story.tick(good=True, canary=canary(True, 60), out=True) is MITIGATED
        assert story.tick(good=True, canary=canary(True, 60)) is RESOLVED

    def test_bad_in_rotation_it_fires_again_also_where_its_zone_takes_no_traffic(self) -> None:
        story = self.isolated()
        assert story.ticks(2, bad=True, takes_traffic=False) is FIRING


def test_a_service_that_is_well_because_some_are_refused_is_mitigated_until_nobody_is() -> None:
    story = Story(SERVICE)
    assert story.ticks(2, bad=True) is FIRING
    assert story.ticks(3, good=True, refuses=("batch",)) is FIRING
    assert story.tick(good=True, refuses=("batch",)) is MITIGATED
    assert story.reason == "batch is refused and the others are well"
    assert story.ticks(60, good=True, refuses=("batch",)) is MITIGATED
    assert story.tick(good=True) is RESOLVED


def test_a_service_that_is_bad_again_while_some_are_refused_fires_again() -> None:
    story = Story(SERVICE)
    story.ticks(2, bad=True)
    story.ticks(4, good=True, refuses=("batch",))
    assert story.ticks(2, bad=True, refuses=("batch",)) is FIRING
    assert "it has traffic again" not in story.reason


def test_who_is_refused_is_no_matter_to_a_zone() -> None:
    story = Story()
    story.ticks(2, bad=True)
    assert story.ticks(16, good=True, refuses=("batch",)) is RESOLVED
