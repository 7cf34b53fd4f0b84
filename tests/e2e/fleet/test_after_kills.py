"""A fault while everything that could end it is killed outright, and the fleet itself lives on.

`fleetward chaos revert` needs the state directory alone. What it says is checked from outside: at
the nodes' own sockets, and by the time that its replicas take for a token.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.fleet.conftest import LAB, NewFleet
from tests.support.fleet_up import OWN, FleetUp, held, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(540)]

ZONE = "zone-b"
DRILL = f"""
apiVersion: fleetward.dev/v1
kind: Drill
metadata: {{name: long-gray}}
spec:
  purpose: Keep a zone slow for longer than anybody waits.
  service: chat
  environment: lab
  preconditions: {{noOpenIncident: false, steadyFor: 3s, timeout: 10m}}
  hypothesis:
    title: Somebody takes it back.
    probes:
      - {{name: clients-are-served, type: effectiveShare, atLeast: 1%, window: 10s, when: [start]}}
  faults:
    - name: gray
      kind: zone.gray
      selector: {{zones: [{ZONE}]}}
      duration: 50m
      parameters: {{factor: 3}}
  recovery: {{within: 40m}}
"""


def slowness(fleet: FleetUp) -> float:
    """How many times longer the gray zone takes for a token than another zone does now."""
    return fleet.time_per_token(ZONE) / fleet.time_per_token("zone-a")


def faults(fleet: FleetUp) -> list[dict[str, Any]]:
    """All faults in the ledger."""
    found: list[dict[str, Any]] = fleet.ask("chaos", "faults", "--all")
    return found


def inject(fleet: FleetUp, drill: Path) -> None:
    """Start the drill, and wait until its fault is seen and has made somebody decide something."""
    drill.write_text(DRILL)
    started = fleet.ask("drill", "run", str(drill), "--no-wait")
    assert started["drill"] == "long-gray"

    def decided() -> bool:
        with fleet.database() as database, database.reading() as tx:
            states = [fault.state.value for fault in tx.faults.list(run=started["run"])]
            told = {(decision.playbook, decision.target) for decision in tx.decisions.list()}
        return states == ["verified"] and ("zone-failover", f"chat/local/{ZONE}") in told

    wait_for("the fault seen, and a decision about it", decided, 120)


@pytest.fixture
def broken(new_fleet: NewFleet, tmp_path: Path) -> FleetUp:
    """A fleet with a gray zone, of whose control plane nothing lives."""
    fleet = new_fleet("--mode", "observe").start()
    inject(fleet, tmp_path / "long-gray.yaml")
    fleet.kill_up()
    for name in OWN:
        fleet.kill(name)
    return fleet


def test_a_fault_is_taken_back_by_the_command_alone(broken: FleetUp) -> None:
    fleet = broken
    assert fleet.alive() == LAB
    assert {node: kinds for node, kinds in fleet.faults_listed().items() if kinds} == {
        "node-b1": ["slow"],
        "node-b2": ["slow"],
    }
    wait_for("a slow zone", lambda: slowness(fleet) > 2)
    (fault,) = faults(fleet)
    assert fault["state"] == "verified"
    assert datetime.fromisoformat(fault["expires"]) - datetime.now(UTC) > timedelta(minutes=30)
    commands_answer(fleet)

    reverted = fleet.run("chaos", "revert", "--all", "-o", "json")
    assert reverted.returncode == 0, reverted.stdout + reverted.stderr
    assert {node for node, kinds in fleet.faults_listed().items() if kinds} == set()
    wait_for("a zone as fast as the others", lambda: slowness(fleet) < 1.5)
    assert [fault["state"] for fault in faults(fleet)] == ["verifiedClear"]
    assert fleet.ask("chaos", "faults") == []
    assert fleet.alive() == LAB

    comes_up_again(fleet)


def commands_answer(fleet: FleetUp) -> None:
    """With nothing but the state directory, people can see what happened and stop what comes."""
    halt = fleet.ask("halt", "--reason", "looking at it", "--for", "1h")
    assert [each["id"] for each in fleet.ask("resume")] == [halt["id"]]
    assert [each["id"] for each in fleet.ask("resume", "--all")] == [halt["id"]]
    assert [(run["kind"], run["name"]) for run in fleet.ask("runs")] == [("drill", "long-gray")]
    about = {incident["target"] for incident in fleet.ask("incidents", "--all")}
    assert f"chat/local/{ZONE}" in about
    why = {each["playbook"]: each for each in fleet.ask("why", f"chat/local/{ZONE}")["playbooks"]}
    assert why["zone-failover"]["outcome"] != "started"
    assert "observe" in why["zone-failover"]["why"]
    told = fleet.run("why", f"chat/local/{ZONE}")
    assert told.returncode == 0
    assert "zone-failover" in told.stdout


def comes_up_again(fleet: FleetUp) -> None:
    """A lab that lives is adopted, a control plane without its `up` is ended, and a stop leaves nothing."""
    lab = {name: fleet.table.get(name).pid for name in LAB}
    fleet.start().wait_whole()
    assert "adopted the lab" in fleet.said
    fleet.kill_up()
    assert fleet.alive() == LAB | set(OWN)

    fleet.start().wait_whole()
    assert {name for name in OWN if f"ended {name}, left by an earlier start" in fleet.said} == set(OWN)
    assert "adopted the lab" in fleet.said
    assert {name: fleet.table.get(name).pid for name in LAB} == lab

    ports = fleet.ports()
    assert (fleet.terminate(), fleet.left(), held(ports)) == (0, [], []), fleet.said
