"""Plans and starts over the API: what the hand says, and its errors as problems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from fastapi.testclient import TestClient

from controlplane.act.byhand import Ask
from controlplane.api.app import create_app
from controlplane.api.services import Services
from controlplane.kernel.errors import NotFound, Refused
from controlplane.model.preview import Capacity, PlaybookPlan
from controlplane.model.records import Run
from controlplane.model.states import RunState

BASE = "http://127.0.0.1:8700"
BODY = {"target": "chat/local/zone-a", "inputs": {"ramp": "5s"}}


@dataclass
class Scripted:
    """A hand that knows one playbook, and that a guard is against on zone-c."""

    services: Services
    asked: list[Ask] = field(default_factory=list)

    def plan(self, ask: Ask) -> PlaybookPlan:
        self._look(ask)
        capacity = Capacity(
            replicas=12, healthy_before=12, healthy_after=8, share_after=0.67, zones=3, zones_out_after=1
        )
        return PlaybookPlan(
            playbook="move",
            service="chat",
            target=ask.target,
            at=self.services.clock.now(),
            verdict="run",
            why="no guard is against it",
            capacity=capacity,
            steps=(),
        )

    def start(self, ask: Ask) -> Run:
        self._look(ask)
        if ask.target.endswith("zone-c"):
            raise Refused("blastRadius: 2 of at most 1 zone would be out")
        return Run(
            id="run-1",
            kind="playbook",
            name="move",
            service="chat",
            target=ask.target,
            trigger="manual",
            started_by=ask.by,
            state=RunState.QUEUED,
            created_at=self.services.clock.now(),
        )

    def _look(self, ask: Ask) -> None:
        self.asked.append(ask)
        if ask.playbook != "move":
            raise NotFound("no playbook `moove` is loaded", hint="did you mean `move`?")


@pytest.fixture
def hand(services: Services) -> Scripted:
    return Scripted(services)


@pytest.fixture
def signed(services: Services, hand: Scripted, bearer: dict[str, str]) -> Iterator[TestClient]:
    with TestClient(create_app(replace(services, hand=hand)), base_url=BASE, headers=bearer) as client:
        yield client


def test_a_plan_is_what_the_hand_says(signed: TestClient, hand: Scripted) -> None:
    answer = signed.post("/api/v1/playbooks/move/plan", json=BODY)
    assert (answer.status_code, answer.json()["capacity"]["healthyAfter"]) == (200, 8)
    assert (hand.asked[0].target, hand.asked[0].inputs) == ("chat/local/zone-a", {"ramp": "5s"})


def test_a_start_is_in_the_name_of_who_asks_and_carries_the_reason(
    signed: TestClient, hand: Scripted
) -> None:
    answer = signed.post("/api/v1/playbooks/move/run", json={**BODY, "reason": "change 4812"})
    assert (answer.status_code, answer.json()["id"], answer.json()["startedBy"]) == (201, "run-1", "admin")
    assert (hand.asked[0].by, hand.asked[0].reason) == ("admin", "change 4812")


def test_a_guard_that_is_against_a_start_is_told_with_its_numbers(signed: TestClient) -> None:
    answer = signed.post("/api/v1/playbooks/move/run", json={**BODY, "target": "chat/local/zone-c"})
    assert (answer.status_code, answer.json()["code"]) == (409, "refused")
    assert "2 of at most 1 zone" in answer.json()["detail"]


def test_nobody_starts_a_playbook_without_a_token(services: Services, hand: Scripted) -> None:
    with TestClient(create_app(replace(services, hand=hand)), base_url=BASE) as client:
        answer = client.post("/api/v1/playbooks/move/run", json=BODY)
    assert answer.status_code == 401
    assert hand.asked == []


@pytest.mark.parametrize("what", ["plan", "run"])
def test_an_unknown_playbook_is_told_with_the_nearest_name(signed: TestClient, what: str) -> None:
    missing = signed.post(f"/api/v1/playbooks/moove/{what}", json=BODY)
    assert (missing.status_code, missing.json()["hint"]) == (404, "did you mean `move`?")


@pytest.mark.parametrize("what", ["plan", "run"])
def test_without_a_platform_there_is_no_plan_and_no_start(
    services: Services, bearer: dict[str, str], what: str
) -> None:
    with TestClient(create_app(services), base_url=BASE, headers=bearer) as client:
        answer = client.post(f"/api/v1/playbooks/move/{what}", json={"target": "chat"})
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
