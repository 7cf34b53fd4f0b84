"""What the loop does about a fleet that breaks, tick by tick, on a virtual clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from controlplane.bootstrap.advice import advice_on
from controlplane.model.records import Halt, Verdict
from controlplane.model.signals import SIGNALS, SignalsSnapshot
from controlplane.model.slo import Slo
from controlplane.model.states import IncidentState, RunState
from controlplane.store.advice import readings
from tests.scenarios.loop_world import DOCUMENTS, World
from tests.unit.controlplane.decide.fleet import ZONES, at


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.run(20)
    return made


def test_a_healthy_fleet_has_no_incident_and_no_run(world: World) -> None:
    world.run(60)
    assert world.incidents() == []
    assert world.runs() == []


def test_a_gray_zone_is_one_incident_and_one_run_within_three_ticks(world: World) -> None:
    world.slow.add(at("a"))
    waited = world.run_until(lambda: world.runs("zone-failover"), 6)
    assert waited <= 6
    world.run(20)
    assert [(each.signal, each.tier) for each in world.incidents()] == [(f"slo:chat-itl@{at('a')}", "fast")]
    assert [run.state for run in world.runs()] == [RunState.SUCCEEDED]
    assert world.weights()["zone-a"] == 0
    assert world.incidents()[0].state is IncidentState.MITIGATED


def test_an_evacuated_zone_gets_its_traffic_back_when_its_canary_was_good_for_long_enough(
    world: World,
) -> None:
    world.slow.add(at("a"))
    world.run(40)
    assert world.runs("zone-failback") == []
    world.slow.clear()
    waited = world.run_until(lambda: world.runs("zone-failback"), 40)
    assert 14 <= waited <= 20
    world.run_until(lambda: world.incidents()[0].state is IncidentState.RESOLVED, 60)
    assert world.weights() == dict.fromkeys(ZONES, 100)
    assert len(world.runs()) == 2
    with world.database.reading() as tx:
        assert tx.ledger.list() == []


def test_a_hung_replica_is_restarted_within_three_ticks_and_only_it(world: World) -> None:
    world.hang(at("b/b1/0"))
    waited = world.run_until(lambda: world.runs("hung-replica"), 8)
    assert waited <= 6
    world.run(30)
    assert [run.target for run in world.runs()] == [str(at("b/b1/0"))]
    assert [run.state for run in world.runs()] == [RunState.SUCCEEDED]
    assert {each.state for each in world.incidents()} == {IncidentState.RESOLVED}
    assert [record.op for record in world.platform.writes()] == ["restart"]


def test_two_bad_nodes_of_a_zone_are_the_zone_and_what_answered_the_nodes_gives_way(world: World) -> None:
    world.dead.add(at("a/a1"))
    world.run(8)
    assert [run.target for run in world.runs("node-notice")] == [str(at("a/a1"))]
    world.dead.add(at("a/a2"))
    world.run(4)
    zone = next(each for each in world.incidents() if each.target == str(at("a")))
    nodes = [each for each in world.incidents() if each.target.startswith(f"{at('a')}/")]
    assert zone.signal == f"slo:chat-availability@{at('a')}"
    assert {node.parent for node in nodes} == {zone.id}
    assert len(world.runs("zone-failover")) == 1
    notice = world.runs("node-notice")[0]
    assert (notice.stop, len(world.runs("node-notice"))) == ("supersede", 1)
    assert (
        notice.stop_reason
        == f"chat-availability at node-a1 is part of chat-availability at zone-a ({zone.id})"
    )
    assert world.weights()["zone-a"] == 0


def test_three_bad_zones_are_the_observer_and_nothing_is_started(world: World) -> None:
    world.slow |= {at("a"), at("b"), at("c")}
    world.run(30)
    assert world.runs() == []
    refused = world.decisions(playbook="zone-failover")[-1]
    storm = next(guard for guard in refused.guards if guard.guard == "storm")
    assert refused.outcome == "refused"
    assert storm.verdict is Verdict.REFUSE
    assert storm.message == "all 3 zones are bad at once: suspect the observer"
    assert storm.values["badZones"] == list(ZONES)
    assert world.weights() == dict.fromkeys(ZONES, 100)


def test_a_second_bad_zone_waits_for_the_first(world: World) -> None:
    world.slow.add(at("a"))
    world.run(20)
    world.slow.add(at("b"))
    world.run(20)
    assert len(world.runs("zone-failover")) == 1
    decision = world.decisions(playbook="zone-failover", target=str(at("b")))[-1]
    blast = next(guard for guard in decision.guards if guard.guard == "blastRadius")
    assert (decision.outcome, blast.verdict) == ("queued", Verdict.WAIT)
    assert "2 of 3 zones would be out of service, the limit is 1" in blast.message


def test_without_data_nothing_fires_and_nothing_heals(world: World) -> None:
    world.slow.add(at("a"))
    world.run(20)
    before = world.incidents()[0]
    world.source.broken = True
    world.slow.clear()
    world.run(60)
    after = world.incidents()[0]
    assert (before.state, after.state) == (IncidentState.MITIGATED, IncidentState.UNKNOWN)
    assert len(world.incidents()) == 1
    assert len(world.runs()) == 1
    assert world.weights()["zone-a"] == 0


def test_sight_that_comes_back_finds_the_incident_where_it_was(world: World) -> None:
    world.slow.add(at("a"))
    world.run(20)
    world.source.broken = True
    world.run(20)
    world.source.broken = False
    world.run(12)
    assert world.incidents()[0].state is IncidentState.MITIGATED


def test_a_metrics_source_that_came_back_empty_is_not_a_dead_fleet(world: World) -> None:
    world.source.series.clear()
    frozen, world._engines = world._engines, lambda: None  # type: ignore[method-assign]
    world.run(30)
    world._engines = frozen  # type: ignore[method-assign]
    assert world.incidents() == []
    with world.database.reading() as tx:
        snapshot = SignalsSnapshot.model_validate(tx.snapshots.get(SIGNALS, service="chat"))
    assert {good.good for good in snapshot.signals.values()} == {None}
    assert snapshot.sources["engine"] in {"stale", "lost"}


def test_a_platform_that_does_not_answer_stops_new_runs(world: World) -> None:
    world.seen.broken = True
    world.slow.add(at("a"))
    world.run(20)
    assert world.runs() == []
    decision = world.decisions(playbook="zone-failover")[-1]
    sources = next(guard for guard in decision.guards if guard.guard == "sources")
    assert sources.message == "platform is stale"


def test_observe_mode_records_what_it_would_have_done(tmp_path: Path) -> None:
    world = World(tmp_path, mode="observe")
    world.run(20)
    world.slow.add(at("a"))
    world.run(30)
    assert world.runs() == []
    decision = world.decisions(playbook="zone-failover")[-1]
    assert decision.outcome == "observed"
    assert [guard.guard for guard in decision.guards if guard.verdict is not Verdict.ALLOW] == ["mode"]
    assert decision.count > 1


def test_a_new_leader_acts_on_nothing_before_two_ticks(world: World) -> None:
    world.work = False
    world.slow.add(at("a"))
    world.run(2)
    world.controller.close()
    world.controller = world.new_controller("two")
    world.step()
    assert world.runs() == []
    world.run(8)
    assert len(world.runs("zone-failover")) == 1


def test_a_controller_without_the_lease_does_nothing(world: World) -> None:
    standby = world.new_controller("standby")
    standby.tick()
    assert standby.leads is False
    assert len(world.probers) == 1


def test_a_leader_that_was_stopped_too_long_writes_nothing(world: World) -> None:
    stale = world.controller
    world.clock.advance(20)
    world.controller = world.new_controller("two")
    world.controller.tick()
    with world.database.reading() as tx:
        at_take_over = tx.snapshots.at(SIGNALS, service="chat")
    stale.tick()
    with world.database.reading() as tx:
        assert tx.snapshots.at(SIGNALS, service="chat") == at_take_over
    assert stale.leads is False


def test_a_halt_stops_it_and_says_who(world: World) -> None:
    with world.database.transaction() as tx:
        tx.halts.add(Halt(id="halt-1", reason="deploy", by="ada", created_at=world.clock.now()))
    world.slow.add(at("a"))
    world.run(20)
    assert world.runs() == []
    decision = world.decisions(playbook="zone-failover")[-1]
    halt = next(guard for guard in decision.guards if guard.guard == "halt")
    assert halt.message == "halted by ada: deploy"


def test_a_zone_that_somebody_took_out_counts_in_the_budget(world: World) -> None:
    world.platform.set_weights("chat", {"zone-c": 0}, expected_version=None, by=None)
    world.run(4)
    with world.database.reading() as tx:
        assert [(row.target, row.holder) for row in tx.ledger.list()] == [(str(at("c")), "platform")]
    world.slow.add(at("a"))
    world.run(20)
    assert world.runs() == []
    world.platform.set_weights("chat", {"zone-c": 100}, expected_version=None, by=None)
    world.run_until(lambda: world.runs("zone-failover"), 12)


def test_one_odd_tick_is_no_incident_that_fires(world: World) -> None:
    world.canaries = False
    world.slow.add(at("a"))
    world.step()
    world.slow.clear()
    world.run(30)
    assert world.runs() == []
    assert all(each.fired_at is None for each in world.incidents())


def test_the_number_of_queries_does_not_grow_with_the_objectives(world: World) -> None:
    few = len(world.source.queries)
    with world.database.transaction() as tx:
        for number in range(20):
            spec = {"service": "chat", "indicator": "itl", "threshold": "50ms", "target": "90%", "tiers": []}
            tx.documents.put(
                Slo.model_validate({"kind": "SLO", "metadata": {"name": f"s{number}"}, "spec": spec})
            )
    world.run(4)
    assert len(world.source.queries) == few


@pytest.mark.parametrize(("then", "told"), [("notify", ["oncall"]), ("refuse", [])])
def test_when_its_budget_is_used_up_a_playbook_gives_way_to_people_once(
    tmp_path: Path, then: str, told: list[str]
) -> None:
    budget = (
        f"budget: {{maxRuns: 1, window: 1h, then: {then}}}\n  onFailure: {{escalate: [{{notify: oncall}}]}}"
    )
    text = DOCUMENTS.replace("throttle: {onceWithin: 2m, groupBy: [service, replica]}", budget, 1)
    world = World(tmp_path, documents=text)
    world.run(20)
    world.hang(at("b/b1/0"))
    world.run(30)
    world.hang(at("c/c1/0"))
    world.run(60)
    assert [sent[1] for sent in world.outbox.sent] == told
    assert [record.op for record in world.platform.writes()] == ["restart"]
    second = [each for each in world.decisions(playbook="hung-replica") if each.target == str(at("c/c1/0"))]
    assert {each.outcome for each in second} == {"refused"}
    against = {verdict.guard for verdict in second[0].guards if verdict.verdict is Verdict.REFUSE}
    assert against == {"budget"}


def test_every_indicator_is_left_behind_for_who_advises(world: World) -> None:
    world.run(14)
    with world.database.reading() as tx:
        found = advice_on(tx, "chat")
        values = readings(tx, "chat")
    assert values is not None
    assert (values.values["batch"], values.values["replicas"]) == (3.0, 12.0)
    assert {each.name: each.status for each in found.indicators}["queue"] == "on"
