"""``fleetward playbook plan`` and ``run``: on what is loaded and the fleet that the settings lead to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.bootstrap import byhand
from controlplane.kernel.clock import SystemClock
from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.model.action import SignalReader
from controlplane.platforms.memory import MemoryPlatform
from controlplane.platforms.port import Platform
from controlplane.store.database import Database
from tests.support.steps import Signals
from tests.unit.controlplane.cli.conftest import Result

Fleetward = Callable[..., Result]
pytestmark = pytest.mark.timeout(60)  # a whole command line with a database, several times a test

FILES = """\
apiVersion: fleetward.dev/v1
kind: Service
metadata: {name: chat}
spec: {model: m, zones: [{name: zone-a}, {name: zone-b}, {name: zone-c}]}
---
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: move}
spec:
  inputs: {weight: {type: number, default: 0}}
  steps:
    - {id: shift, uses: traffic.shift, with: {zone: "{{ incident.zone }}", weight: "{{ inputs.weight }}"}}
"""
ZONE = "chat/local/zone-a"


@pytest.fixture
def fleet(fleetward: Fleetward, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MemoryPlatform:
    """A fleet in memory in place of the one that an address would lead to; the files are loaded."""
    made = MemoryPlatform(SystemClock())
    signals = Signals(SystemClock())

    def ports(_: object, database: Database) -> dict[type, object]:
        return {Platform: made, SignalReader: signals}

    monkeypatch.setattr(byhand, "open_ports", ports)
    file = tmp_path / "files.yaml"
    file.write_text(FILES)
    assert fleetward("apply", file).code == 0
    return made


def test_a_plan_shows_values_guards_and_capacity(fleetward: Fleetward, fleet: MemoryPlatform) -> None:
    done = fleetward("playbook", "plan", "move", "--target", ZONE, "--input", "weight=10")
    assert done.code == 0
    assert "move on chat/local/zone-a would run: no guard is against it" in done.text
    assert "weight of chat/local/zone-a: 100 → 10" in done.text
    assert "8 of 12 replicas serve (67%), now 12; 1 of 3 zones are out. Nothing was changed." in done.text
    assert fleet.writes() == []
    found = fleetward("playbook", "plan", "move", "--target", ZONE, "-o", "json").json()
    assert found["steps"][0]["changes"] == [{"target": ZONE, "field": "weight", "before": 100, "after": 0}]
    assert found["capacity"]["healthyAfter"] == 8


def test_a_plan_that_would_not_run_exits_with_1(fleetward: Fleetward, fleet: MemoryPlatform) -> None:
    fleetward("halt", "--reason", "works")
    done = fleetward("playbook", "plan", "move", "--target", ZONE)
    assert done.code == 1
    assert "is refused: halt: halted by" in done.text


def test_a_run_is_started_once_and_waited_for(fleetward: Fleetward, fleet: MemoryPlatform) -> None:
    start = ("playbook", "run", "move", "--target", ZONE, "-o", "json")
    done = fleetward(*start, "--as", "ada", "--reason", "a test")
    assert (done.code, done.json()["state"], done.json()["startedBy"]) == (0, "queued", "cli:ada")
    waited = fleetward(*start, "--wait", "--timeout", "1s")
    assert (waited.code, waited.json()["state"]) == (3, "queued")  # nobody works here
    assert len(fleetward("runs", "list", "-o", "json").json()) == 2


def test_a_run_that_a_guard_refuses_exits_with_1(fleetward: Fleetward, fleet: MemoryPlatform) -> None:
    fleetward("halt", "--reason", "works")
    assert fleetward("playbook", "run", "move", "--target", ZONE).code == 1
    assert fleetward("runs", "list", "-o", "json").json() == []


def test_what_is_wrong_is_wrong_use(fleetward: Fleetward, fleet: MemoryPlatform) -> None:
    for arguments, error in (
        (("moove", "--target", ZONE), NotFound),
        (("move", "--target", "chat/local/zone-x"), NotFound),
        (("move", "--target", ZONE, "--input", "weight"), InvalidInput),
        (("move", "--target", ZONE, "--input", "weight=much"), InvalidInput),
        (("move", "--target", ZONE, "--input", "wait=1"), InvalidInput),
    ):
        for command in ("plan", "run"):
            assert isinstance(fleetward("playbook", command, *arguments).error, error), arguments
