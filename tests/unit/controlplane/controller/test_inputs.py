"""What a tick starts from: documents in force, and a fleet whose platform may hang."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from controlplane.controller import inputs
from controlplane.controller.inputs import DocumentCache, Fleet
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Unavailable
from controlplane.model.policy import Policy
from controlplane.model.topology import Topology, Weights
from controlplane.platforms.port import Platform
from tests.support.rig import fresh_database
from tests.unit.controlplane.decide.fleet import AT, ZONES, topology
from tests.unit.controlplane.decide.measured import SERVICE
from tests.unit.controlplane.decide.verdicts import playbook

WEIGHTS = Weights(version="1", weights=dict.fromkeys(ZONES, 100))


class SlowPlatform:
    """Answers once it is let go."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.asked = 0
        self.error: Exception | None = None

    def weights(self, service: str) -> Weights:
        self.asked += 1
        self.open.wait(5)
        if self.error is not None:
            raise self.error
        return WEIGHTS

    def topology(self, service: str) -> Topology:
        return topology()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowPlatform:
    monkeypatch.setattr(inputs, "PATIENCE", 0.05)
    return SlowPlatform()


def fleet_of(platform: Any) -> Fleet:
    return Fleet(cast("Platform", platform), SERVICE)


def test_a_platform_that_hangs_is_waited_for_a_little_and_asked_once(slow: SlowPlatform) -> None:
    fleet = fleet_of(slow)
    fleet.look(AT)
    fleet.look(AT + timedelta(seconds=2))
    assert (fleet.topology, fleet.error, slow.asked) == (None, "no answer within 0.05 s", 1)
    assert fleet.source(AT).state == "lost"
    slow.open.set()
    inputs.PATIENCE = 5.0
    fleet.look(AT + timedelta(seconds=4))
    assert (fleet.topology, fleet.error, fleet.read_at) == (topology(), "", AT)
    fleet.close()


def test_an_error_keeps_the_last_picture_and_makes_it_stale_then_lost(slow: SlowPlatform) -> None:
    slow.open.set()
    inputs.PATIENCE = 5.0
    fleet = fleet_of(slow)
    fleet.look(AT)
    assert fleet.source(AT).state == "fresh"
    slow.error = Unavailable("gone")
    fleet.look(AT + timedelta(seconds=2))
    assert (fleet.topology, fleet.weights) == (topology(), WEIGHTS)
    assert fleet.source(AT + timedelta(seconds=2)).state == "stale"
    assert fleet.source(AT + timedelta(seconds=31)).state == "lost"
    assert fleet.source(AT + timedelta(seconds=2)).detail == "gone"
    fleet.close()


def test_documents_are_read_again_when_one_changed(tmp_path: Path) -> None:
    database, cache = fresh_database(tmp_path, VirtualClock()), DocumentCache()
    with database.transaction() as tx:
        service = tx.documents.put(SERVICE)
        first = cache.read(tx)
        assert cache.read(tx) is first
        book = tx.documents.put(playbook())
        second = cache.read(tx)
    assert (set(first.playbooks), set(second.playbooks)) == (set(), {"zone-failover"})
    assert second.pins("zone-failover", "chat", "no-such-slo") == {"Playbook": book, "Service": service}


def test_a_run_pins_the_policy_that_is_in_force(tmp_path: Path) -> None:
    database = fresh_database(tmp_path, VirtualClock())
    policy = Policy.model_validate({"kind": "Policy", "metadata": {"name": "p"}, "spec": {"mode": "observe"}})
    with database.transaction() as tx:
        tx.documents.put(SERVICE)
        sha256 = tx.documents.put(policy)
        documents = DocumentCache().read(tx)
    assert documents.policy.mode == "observe"
    assert documents.pins("x", "chat", None)["Policy"] == sha256
