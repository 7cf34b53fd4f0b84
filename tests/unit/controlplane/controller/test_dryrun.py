"""Mode dryRun: the decision keeps a plan of the fleet as last seen, once, and nothing is asked or changed."""

from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.bootstrap.documents import action_registry
from controlplane.controller.dryrun import DryRuns, LastSeen
from controlplane.controller.inputs import Documents
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Unavailable
from controlplane.model.playbook import Playbook
from controlplane.model.policy import PolicySpec
from controlplane.model.records import Decision
from controlplane.platforms.memory import MemoryPlatform
from controlplane.store.memory import MemoryDatabase
from tests.support.steps import SERVICE

SHIFT = {"id": "shift", "uses": "traffic.shift", "with": {"zone": "{{ incident.zone }}", "weight": 0}}


@pytest.fixture(scope="module")
def database() -> Iterator[MemoryDatabase]:
    made = MemoryDatabase(VirtualClock())
    yield made
    made.close()


def playbook(**spec: Any) -> Playbook:
    body = {"kind": "Playbook", "metadata": {"name": "p"}, "spec": {"steps": [SHIFT], **spec}}
    return Playbook.model_validate(body)


def keep(database: MemoryDatabase, found: Playbook, policy: str = "auto") -> list[Decision]:
    """Let one observed decision be there, keep its plan twice, and return the decisions."""
    clock = VirtualClock()
    database.clear(clock)
    platform = MemoryPlatform(clock)
    documents = Documents(playbooks={"p": found}, policy=PolicySpec(mode=policy))
    runs = DryRuns(SERVICE, documents, action_registry(), database, database.transaction, clock)
    with database.transaction() as tx:
        tx.decisions.record(
            Decision(
                id="dec-1",
                at=tx.now,
                last_at=tx.now,
                playbook="p",
                trigger="slo",
                target="chat/local/zone-a",
                outcome="observed",
                values={"value": 1.0},
            )
        )
    counts = [runs.keep(platform.topology("chat"), platform.weights("chat")) for _ in range(2)]
    assert counts in ([1, 0], [0, 0])
    assert platform.writes() == []
    with database.reading() as tx:
        return tx.decisions.list()


def test_the_decision_keeps_the_plan(database: MemoryDatabase) -> None:
    for decision in (
        *keep(database, playbook(mode="dryRun")),
        *keep(database, playbook(), policy="dryRun"),
    ):
        (step,) = decision.values["plan"]
        assert step["outlook"] == "runs"
        assert step["changes"] == [
            {"target": "chat/local/zone-a", "field": "weight", "before": 100, "after": 0}
        ]
        assert decision.values["value"] == 1.0


def test_other_modes_keep_none(database: MemoryDatabase) -> None:
    assert "plan" not in keep(database, playbook(mode="observe"))[0].values
    assert "plan" not in keep(database, playbook(mode="dryRun"), policy="observe")[0].values


def test_what_cannot_be_planned_says_why(database: MemoryDatabase) -> None:
    (decision,) = keep(database, playbook(mode="dryRun", inputs={"x": {"type": "string"}}))
    assert decision.values["plan"] == "input `x` is missing"


def test_only_the_last_picture_answers() -> None:
    platform = MemoryPlatform(VirtualClock())
    seen = LastSeen(platform.topology("chat"), platform.weights("chat"))
    assert seen.weights("chat").weights["zone-a"] == 100
    with pytest.raises(Unavailable, match="does not ask the platform for its set_weights"):
        seen.set_weights("chat", {"zone-a": 0}, expected_version=None, by=None)
