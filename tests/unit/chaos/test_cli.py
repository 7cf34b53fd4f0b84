"""The commands of chaos, on a fleet in memory."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from chaos import cli
from chaos.drills import ports
from chaos.drills.case import fault_id
from controlplane.kernel import clock
from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.model.states import FaultState, RunState
from controlplane.store.transitions import move
from tests.support.drill_controlplanes import nobody
from tests.support.drill_world import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A fleet whose state directory the commands are given; their driver is the memory's."""
    world = World(tmp_path, nobody)
    monkeypatch.setattr(ports, "lab_drill_ports", lambda _: world.ports)
    monkeypatch.setattr(clock, "SystemClock", lambda: world.clock)
    yield world
    world.database.close()


def _app() -> typer.Typer:
    app = typer.Typer()
    cli.register(app)
    return app


def run(world: World, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(_app(), [*words, "--state-dir", str(world.ports.reports.parent)])
    if isinstance(result.exception, Exception) and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


def gray_fault(world: World) -> str:
    world.live(20)
    run_id = world.start("gray-zone")
    while not [one for one in world.faults(standing=True) if one.state is FaultState.VERIFIED]:
        world.step()
        world.executor.advance(run_id)
    return run_id


def test_revert_of_everything_waits_until_nothing_is_seen_any_more(world: World) -> None:
    run_id = gray_fault(world)
    code, told = run(world, "chaos", "revert", "--all", "-o", "json")
    assert code == 0
    assert [one["fault"] for one in json.loads(told)] == [fault_id(run_id, "gray")]
    assert world.faults(standing=True) == []
    assert json.loads(run(world, "chaos", "revert", "--all", "-o", "json")[1]) == []


def test_revert_of_a_fault_whose_target_is_gone_says_so_by_its_exit_code(world: World) -> None:
    run_id = gray_fault(world)
    world.driver.unreachable = {"node-b1", "node-b2"}
    code, told = run(world, "chaos", "revert", "--drill", run_id, "-o", "json")
    assert code == 1
    assert "does not answer" in json.loads(told)[0]["detail"]


@pytest.mark.parametrize("words", [(), ("fault-1", "--all"), ("--all", "--drill", "run-1")])
def test_revert_wants_to_know_exactly_what(world: World, words: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match="name one fault"):
        run(world, "chaos", "revert", *words)


def test_faults_that_stand_are_listed(world: World) -> None:
    assert run(world, "chaos", "faults")[1] == "No fault stands.\n"
    gray_fault(world)
    listed = json.loads(run(world, "chaos", "faults", "-o", "json")[1])
    assert [(one["kind"], one["state"]) for one in listed] == [("zone.gray", "verified")]


def test_a_drill_is_started_without_waiting_and_listed(world: World) -> None:
    code, told = run(world, "drill", "run", "gray-zone", "--no-wait", "-o", "json")
    assert code == 0
    listed = json.loads(run(world, "drill", "list", "-o", "json")[1])
    assert [(one["run"], one["verdict"]) for one in listed] == [(json.loads(told)["run"], None)]


def test_the_catalogue_names_what_is_shipped_and_what_is_in_force(world: World, tmp_path: Path) -> None:
    own = world.drill_running("rolling-restart", playbook="our-restart")
    own = own.model_copy(update={"metadata": own.metadata.model_copy(update={"name": "our-drill"})})
    with world.database.transaction() as tx:
        tx.documents.put(own)
    listed = {one["drill"]: one for one in json.loads(run(world, "drill", "catalog", "-o", "json")[1])}
    assert listed["our-drill"]["does"] == "runs our-restart"
    assert listed["gray-zone"]["does"] == "zone.gray"
    assert list(listed) == sorted(listed)

    elsewhere = CliRunner().invoke(
        _app(), ["drill", "catalog", "--state-dir", str(tmp_path / "none"), "-o", "json"]
    )
    assert {one["drill"] for one in json.loads(elsewhere.stdout)} == set(listed) - {"our-drill"}


def test_an_unknown_drill_is_answered_with_the_nearest(world: World) -> None:
    with pytest.raises(NotFound, match="did you mean `gray-zone`"):
        run(world, "drill", "run", "grey-zone")


@pytest.mark.timeout(60)
def test_the_report_of_a_drill_that_was_cut_short_is_made_when_it_is_asked_for(world: World) -> None:
    run_id = gray_fault(world)
    with pytest.raises(NotFound, match="no report yet"):
        run(world, "drill", "report", run_id)
    with world.database.transaction() as tx:
        move(tx, tx.runs.get(run_id), RunState.FAILED, "the worker's machine burnt down")
    result = json.loads(run(world, "drill", "report", run_id)[1])
    assert result["verdict"] == "aborted"
    assert result["reasons"][0] == "the worker's machine burnt down"
    assert "zone.gray" in result["leftovers"][0]
    assert run(world, "drill", "report", run_id, "-o", "html")[1].startswith("<!doctype html>")
