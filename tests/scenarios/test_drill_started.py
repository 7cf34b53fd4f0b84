"""Playbooks that start drills: once, waiting for the verdict, and ending with them when they end early."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from chaos.drills.starting import DrillParameters, StartDrill
from controlplane.act.cancel import cancel_run
from controlplane.kernel.errors import Unavailable
from controlplane.model.action import ActionContext
from controlplane.model.documents import load_bundle
from controlplane.model.outcome import Outcome
from controlplane.model.records import Run
from controlplane.model.states import RunState, is_final
from controlplane.store.runs import RunQuery
from tests.support.drill_controlplanes import failover, nobody
from tests.support.drill_world import Controlplane, World
from tests.support.playbook_runs import start_playbook

pytestmark = pytest.mark.timeout(240)

PLAYBOOK = """
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: weekly}
spec:
  description: Break a zone, and see.
  triggers: [{type: manual}]
  steps:
    - id: drill
      uses: drill.start
      with: {drill: %s}
      timeout: 20m
      retry: {limit: %d, backoff: {duration: 1m, maxDuration: 1m}}
  onFailure: {undo: true}
"""
OTHERS = """
apiVersion: fleetward.dev/v1
kind: Drill
metadata: {name: theirs}
spec:
  purpose: Break what is not ours.
  service: search
  environment: lab
  hypothesis:
    title: Nobody notices.
    probes: [{name: served, type: effectiveShare, atLeast: 95%}]
  faults: [{name: gone, kind: zone.outage, selector: {zones: [zone-b]}, duration: 30s}]
  recovery: {within: 30s}
"""

Make = Callable[[Controlplane], World]


def start(world: World, drill: str = "zone-outage", *, retries: int = 0) -> str:
    return start_playbook(world.database, PLAYBOOK % (drill, retries), "chat/local").id


def drills(world: World) -> list[Run]:
    with world.database.reading() as tx:
        return tx.runs.list(RunQuery(kind="drill"))


def go_on(world: World, until: Callable[[], Any], limit: int = 900) -> None:
    """Let the world and a worker go on, with every run that is active."""
    for _ in range(limit):
        if until():
            return
        world.step()
        with world.database.reading() as tx:
            active = tx.runs.list(RunQuery(active=True))
        for run in active:
            world.executor.advance(run.id)
    raise AssertionError(f"it does not come: {drills(world)}")


def run_to_end(world: World, run_id: str) -> Run:
    go_on(world, lambda: is_final(world.run(run_id).state))
    return world.run(run_id)


def outputs(world: World, run_id: str) -> dict[str, Any]:
    with world.database.reading() as tx:
        (step,) = tx.steps.list(run_id)
    return step.outputs


def test_a_playbook_succeeds_with_a_drill_that_passes_and_knows_what_it_found(make: Make) -> None:
    world = make(failover(after=8))
    run = run_to_end(world, start(world))
    (drill,) = drills(world)
    assert run.state is RunState.SUCCEEDED, run.reason
    assert (drill.name, drill.started_by) == ("zone-outage", f"run/{run.id}/drill")
    found = outputs(world, run.id)
    assert (found["run"], found["verdict"]) == (drill.id, "passed")
    assert found["timeToMitigate"] == drill.result["timeToMitigate"]
    assert found["effectiveTokensKept"] > 0.85


def test_a_drill_that_fails_fails_the_playbook_with_its_reasons(make: Make) -> None:
    world = make(nobody)
    run = run_to_end(world, start(world))
    (drill,) = drills(world)
    assert run.state is RunState.FAILED
    assert f"drill zone-outage ({drill.id}): failed: {drill.result['reasons'][0]}" in str(run.reason)
    assert world.faults(standing=True) == []


def test_who_cancels_the_playbook_cancels_the_drill_and_its_faults_are_taken_back(make: Make) -> None:
    world = make(nobody)
    run = start(world)
    go_on(world, lambda: world.faults(standing=True))
    with world.database.transaction() as tx:
        cancel_run(tx, run, by="test", reason="enough")
    go_on(world, lambda: all(is_final(each.state) for each in [world.run(run), *drills(world)]))
    (drill,) = drills(world)
    assert (world.run(run).state, drill.state) == (RunState.CANCELLED, RunState.CANCELLED)
    assert world.faults(standing=True) == []


def test_a_drill_whose_start_is_not_told_is_not_started_twice(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Outcome] = []
    whole = StartDrill.run

    def forgetful(self: StartDrill, parameters: DrillParameters, context: ActionContext) -> Outcome:
        told.append(whole(self, parameters, context))
        if len(told) == 1:
            msg = "the answer is lost"
            raise Unavailable(msg)
        return told[-1]

    monkeypatch.setattr(StartDrill, "run", forgetful)
    world = make(failover(after=8))
    run = run_to_end(world, start(world, retries=1))
    assert run.state is RunState.SUCCEEDED, run.reason
    assert len(drills(world)) == 1


def test_it_is_tried_again_once_the_other_drill_of_the_service_is_over(make: Make) -> None:
    world = make(failover(after=8))
    other = world.start("gray-zone")
    run = run_to_end(world, start(world, retries=10))
    assert run.state is RunState.SUCCEEDED, run.reason
    first, second = sorted(drills(world), key=lambda each: each.created_at)
    assert (first.id, second.name) == (other, "zone-outage")
    assert first.ended_at is not None
    assert first.ended_at <= second.created_at


def test_a_drill_of_another_service_and_one_that_is_not_known_are_refused(make: Make) -> None:
    world = make(nobody)
    (theirs,) = _drill(OTHERS)
    with world.database.transaction() as tx:
        tx.documents.put(theirs)
    run = run_to_end(world, start(world, "theirs"))
    assert "drill theirs is about service search, this run about chat" in str(run.reason)
    run = run_to_end(world, start(world, "zone-outag"))
    assert "no drill `zone-outag`" in str(run.reason)
    assert drills(world) == []


def _drill(text: str) -> list[Any]:
    return list(load_bundle([("theirs.yaml", text)]).raise_problems().of("Drill").values())
