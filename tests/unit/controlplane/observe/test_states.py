"""What each replica is at a tick, and which sources say so."""

from __future__ import annotations

from controlplane.model.service import ServiceSpec
from controlplane.model.target import Target
from controlplane.observe.answers import Sorted
from controlplane.observe.counters import Reading, Readings
from controlplane.observe.library import CANARY, CLUSTER, ENGINE
from controlplane.observe.probes import Answer, ProbeBook
from controlplane.observe.states import ProgressBook, Seen, Verdicts, judge

REPLICA = Target("chat", "local", "zone-a", "node-a1", "replica-a1-0")
SPEC = ServiceSpec.model_validate({"model": "m", "zones": [{"name": "zone-a"}]})
BOTH = {ENGINE, CLUSTER}


class Engine:
    """One replica, seen tick by tick; a scrape each time unless told otherwise."""

    def __init__(self) -> None:
        self.probes = ProbeBook(SPEC)
        self.progress = ProgressBook()
        self.at = 100.0

    def tick(
        self,
        steps: float | None,
        *,
        work: float = 3.0,
        up: bool = True,
        ready: bool | None = True,
        scraped: bool = True,
        fresh: set[str] = BOTH,
    ) -> Verdicts:
        self.at += 2.0
        found = Sorted()
        if steps is not None:
            found.counters.append(Readings.gather([Reading("steps", ("steps", REPLICA), (), steps)]))
        found.gauges["running", REPLICA] = work
        if ready is not None:
            found.gauges["ready", REPLICA] = float(ready)
        found.up[REPLICA] = up
        found.scraped_at[REPLICA] = self.at - (0.2 if scraped else 2.2)
        return judge([REPLICA], Seen(found, self.probes, self.at, self.at, 6.0, fresh), self.progress)


def stalled(verdicts: Verdicts) -> tuple[bool | None, set[str]]:
    good = verdicts.states.get("stalled", {}).get(REPLICA)
    return (None if good is None else not good), set(verdicts.evidence.get("stalled", {}).get(REPLICA, ()))


def test_an_engine_that_steps_is_not_stalled() -> None:
    engine = Engine()
    engine.tick(10)
    assert stalled(engine.tick(20)) == (False, set())


def test_work_without_a_step_between_two_scrapes_is_a_stall() -> None:
    engine = Engine()
    engine.tick(10)
    assert stalled(engine.tick(10)) == (True, {ENGINE})


def test_an_engine_that_came_back_without_counters_is_not_held_to_those_it_had() -> None:
    engine = Engine()
    engine.tick(10)
    assert stalled(engine.tick(10)) == (True, {ENGINE})
    engine.tick(None, up=False)
    assert stalled(engine.tick(None, work=0.0)) == (None, set())
    assert stalled(engine.tick(0, work=0.0)) == (None, set())


def test_standing_still_without_work_is_rest() -> None:
    engine = Engine()
    engine.tick(10, work=0)
    assert stalled(engine.tick(10, work=0)) == (None, set())


def test_a_tick_without_a_new_scrape_is_not_standing_still() -> None:
    engine = Engine()
    engine.tick(10)
    engine.tick(20)
    assert stalled(engine.tick(20, scraped=False)) == (False, set())


def test_a_canary_that_is_overdue_makes_a_resting_engine_a_stalled_one_and_a_second_witness() -> None:
    engine = Engine()
    engine.tick(10, work=0)
    engine.probes.asked(REPLICA, engine.at + 0.1)
    assert stalled(engine.tick(10, work=0)) == (True, {ENGINE, CANARY})


def test_an_engine_that_moves_while_the_canary_waits_is_slow_not_stalled() -> None:
    engine = Engine()
    engine.tick(10)
    engine.probes.asked(REPLICA, engine.at + 0.1)
    assert stalled(engine.tick(11)) == (False, set())


def test_a_replica_that_is_down_is_not_stalled_but_unavailable_by_both_sources() -> None:
    engine = Engine()
    engine.tick(10)
    verdicts = engine.tick(10, up=False, ready=False)
    assert stalled(verdicts) == (None, set())
    assert verdicts.evidence["availability"][REPLICA] == {ENGINE, CLUSTER}


def test_a_pod_that_a_fresh_cluster_source_does_not_know_is_not_ready() -> None:
    verdicts = Engine().tick(10, ready=None)
    assert verdicts.states["availability"][REPLICA] is False
    assert verdicts.evidence["availability"][REPLICA] == {CLUSTER}


def test_without_fresh_sources_nothing_is_said() -> None:
    verdicts = Engine().tick(10, up=False, ready=False, fresh=set())
    assert verdicts.states == {}


def test_a_wrong_answer_is_bad_for_the_canary_indicator_only() -> None:
    engine = Engine()
    engine.tick(10)
    engine.probes.answered(REPLICA, Answer(engine.at, engine.at + 0.3, "wrong", 0.1, 0.02, 8))
    verdicts = engine.tick(20)
    assert verdicts.states["canary"][REPLICA] is False
    assert stalled(verdicts) == (False, set())
