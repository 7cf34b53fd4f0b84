"""The commands beside a running fleet: they work with the API dead, and answer what they are asked."""

from __future__ import annotations

import pytest

from controlplane.model.states import RunState
from tests.e2e.fleet.test_runs import run_of, wait_ended
from tests.support.fleet_up import FleetUp, wait_for
from tests.support.playbook_runs import ramp, start_playbook

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def test_halt_and_resume_work_without_the_api(fleet: FleetUp) -> None:
    killed = fleet.kill("api")
    halt = fleet.ask("halt", "--reason", "something smells")
    assert not fleet.table.is_alive(killed)
    with fleet.database() as database:
        run = start_playbook(database, ramp("ramp-halted", "zone-a", 90, "0s"), "chat/local/zone-a")
    wait_for("the run held back", lambda: "something smells" in run_of(fleet, run.id).waiting)
    assert [each["id"] for each in fleet.ask("resume")] == [halt["id"]]
    assert fleet.weights()["zone-a"] == 100

    assert [each["id"] for each in fleet.ask("resume", halt["id"])] == [halt["id"]]
    assert fleet.ask("resume") == []
    assert wait_ended(fleet, run.id).state is RunState.SUCCEEDED
    assert fleet.weights()["zone-a"] == 90
    fleet.replaced(killed)


def test_runs_are_listed_and_told(fleet: FleetUp) -> None:
    with fleet.database() as database:
        run = start_playbook(database, ramp("ramp-told", "zone-a", 80, "0s"), "chat/local/zone-a")
    assert wait_ended(fleet, run.id).state is RunState.SUCCEEDED
    newest = fleet.ask("runs")[0]
    assert (newest["id"], newest["name"], newest["state"]) == (run.id, "ramp-told", "succeeded")
    assert run.id not in {each["id"] for each in fleet.ask("runs", "--active")}

    story = fleet.ask("runs", "show", run.id)
    assert [(step["id"], step["state"]) for step in story["steps"]] == [("shift", "succeeded")]
    assert {"run.queued", "effect"} <= {line["event"] for line in story["journal"]}
    (undo,) = story["undo"]
    assert (undo["before"], undo["applied"]) == (100, 80)

    shown = fleet.run("runs", "show", run.id)
    assert shown.returncode == 0
    for words in (run.id, "ramp-told", "traffic.shift", "weight of chat/local/zone-a: 100 → 80"):
        assert words in " ".join(shown.stdout.split())


def test_why_says_so_when_nothing_was_decided(fleet: FleetUp) -> None:
    asked = fleet.run("why", "chat/local/zone-a/node-a1/replica-a1-9")
    assert asked.returncode == 0
    assert "Nothing was decided about chat/local/zone-a/node-a1/replica-a1-9" in asked.stdout
    assert isinstance(fleet.ask("incidents", "--all"), list)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("runs", "show", "run-unknown"), "no run `run-unknown`"),
        (("why", "chat/local/zone-a/b/c/d/e/f"), "chat/local/zone-a/b/c/d/e/f"),
        (("why", "inc-unknown"), "inc-unknown"),
        (("halt", "--reason", " "), "a halt needs a reason"),
        (("chaos", "revert"), "--all"),
    ],
)
def test_what_cannot_be_answered_is_exit_2_and_words(
    argv: tuple[str, ...], words: str, fleet: FleetUp
) -> None:
    asked = fleet.run(*argv)
    assert (asked.returncode, asked.stdout) == (2, "")
    assert words in " ".join(asked.stderr.split())
    assert "Traceback" not in asked.stderr
