"""Drills that run a playbook instead of breaking something: judged by the clients' record and by its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controlplane.act.byhand import Ask, Hand
from controlplane.act.cancel import cancel_run
from controlplane.act.start import Wake
from controlplane.kernel.errors import NotFound, Unavailable
from controlplane.model.policy import Policy
from controlplane.model.records import Run
from controlplane.model.report import StoredReport, report_name
from controlplane.model.states import RunState
from tests.support.drill_controlplanes import nobody
from tests.support.drill_world import World, roll

pytestmark = pytest.mark.timeout(240)

NAME = "rolling-restart"
Make = Callable[..., World]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    worlds: list[World] = []

    def build(**with_: str) -> World:
        worlds.append(World(tmp_path, nobody))
        worlds[-1].live(20)
        roll(worlds[-1], **with_)
        return worlds[-1]

    yield build
    for world in worlds:
        world.database.close()


def until_it_runs(world: World, drill: str) -> Run:
    for _ in range(60):
        world.step()
        world.executor.advance(drill)
        if (run := world.exercise(drill)) is not None:
            return run
    raise AssertionError("the exercise does not begin")


def test_a_restart_that_no_client_notices_passes(make: Make) -> None:
    world = make()
    drill = world.start(NAME)
    run = world.run_to_end(drill)
    assert run.result["verdict"] == "passed", run.result
    exercise = world.exercise(drill)
    assert exercise is not None
    assert (exercise.state, exercise.started_by) == (RunState.SUCCEEDED, f"drill/{drill}")
    assert exercise.inputs == {"reason": "a drill"}
    assert (run.result["playbook"], run.result["leftovers"]) == ("scheduled-restart", [])
    assert run.result["reasons"] == ["scheduled-restart succeeded after 72 s, and no client noticed"]
    assert run.result["timeToRecover"] >= 72


def test_its_report_tells_of_the_exercise(make: Make) -> None:
    world = make()
    run = world.run_to_end(world.start(NAME))
    with world.database.reading() as tx:
        stored = StoredReport.model_validate(tx.snapshots.get(report_name(run.id)))
    assert stored.report.exercise is not None
    assert (stored.report.exercise.playbook, stored.report.exercise.state) == (
        "scheduled-restart",
        "succeeded",
    )
    assert [(one.name, one.phase, one.good, one.worst) for one in stored.report.probes][-1] == (
        "no-answer-is-lost",
        "during",
        True,
        0,
    )
    assert "<h2>Exercise</h2>" in stored.html
    assert "<h2>Faults</h2>" not in stored.html


def test_one_that_costs_answers_fails_though_its_run_succeeded(make: Make) -> None:
    world = make(how="careless")
    drill = world.start(NAME)
    run = world.run_to_end(drill)
    assert run.result["verdict"] == "failed"
    assert any("no-answer-is-lost" in reason for reason in run.result["reasons"])


def test_one_that_does_not_succeed_fails_though_no_client_noticed(make: Make) -> None:
    world = make(lost="replica-b1-0")
    run = world.run_to_end(world.start(NAME))
    assert run.result["verdict"] == "failed"
    assert "did not succeed: failed: " in run.result["reasons"][0]
    assert "replica-b1-0 does not come back" in run.result["reasons"][0]


def test_one_that_takes_too_long_is_cancelled(make: Make) -> None:
    world = make()
    drill = world.start_within(NAME, 30.0)
    run = world.run_to_end(drill)
    exercise = world.exercise(drill)
    assert exercise is not None
    assert exercise.state is RunState.CANCELLED
    assert run.result["verdict"] == "failed"
    assert "its time in the drill is over" in run.result["reasons"][0]


def test_one_that_a_guard_refuses_is_not_begun(make: Make) -> None:
    world = make()
    policy = Policy.model_validate({"kind": "Policy", "metadata": {"name": "lab"}, "spec": {}})
    with world.database.transaction() as tx:
        tx.documents.put(policy)
    run = world.run_to_end(world.start(NAME))
    assert run.result["verdict"] == "aborted"
    assert "the policy has no window `maintenance`" in run.result["reasons"][0]
    assert run.result["injectedAt"] is None


def test_a_drill_whose_playbook_is_not_in_force_does_not_start(make: Make) -> None:
    world = make()
    with pytest.raises(NotFound, match="no playbook `roll-back`"):
        world.start_with(world.drill_running(NAME, playbook="roll-back"))


def test_who_cancels_the_drill_cancels_the_exercise(make: Make) -> None:
    world = make()
    drill = world.start(NAME)
    until_it_runs(world, drill)
    with world.database.transaction() as tx:
        cancel_run(tx, drill, by="test", reason="enough")
    run = world.run_to_end(drill)
    exercise = world.exercise(drill)
    assert exercise is not None
    assert (run.state, run.result["verdict"]) == (RunState.CANCELLED, "aborted")
    world.executor.advance(exercise.id)
    assert world.run(exercise.id).state is RunState.CANCELLED


def test_a_start_whose_answer_is_lost_is_not_made_twice(make: Make) -> None:
    class Forgetful(Hand):
        """Starts, and once does not say so."""

        def start(self, ask: Ask, wake: Wake | None = None) -> Run:
            super().start(ask, wake)
            msg = "the answer is lost"
            raise Unavailable(msg)

    world = make()
    world.hand = Forgetful
    world.executor = world.worker("worker-2")
    run = world.run_to_end(world.start(NAME))
    assert run.result["verdict"] == "passed", run.result
    with world.database.reading() as tx:
        assert [each.name for each in tx.runs.list()].count("scheduled-restart") == 1
