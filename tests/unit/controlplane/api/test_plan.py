"""The plan of a playbook over the API: what the hand says, and its errors as problems."""

from dataclasses import replace

from fastapi.testclient import TestClient

from controlplane.act.byhand import Ask
from controlplane.api.app import create_app
from controlplane.api.services import Services
from controlplane.kernel.errors import NotFound
from controlplane.model.preview import Capacity, PlaybookPlan

BASE = "http://127.0.0.1:8700"


def test_a_plan_is_what_the_hand_says(services: Services, bearer: dict[str, str]) -> None:
    asked: list[Ask] = []

    def plan(ask: Ask) -> PlaybookPlan:
        asked.append(ask)
        if ask.playbook != "move":
            raise NotFound("no playbook `moove` is loaded", hint="did you mean `move`?")
        capacity = Capacity(
            replicas=12, healthy_before=12, healthy_after=8, share_after=0.67, zones=3, zones_out_after=1
        )
        return PlaybookPlan(
            playbook="move",
            service="chat",
            target=ask.target,
            at=services.clock.now(),
            verdict="run",
            why="no guard is against it",
            capacity=capacity,
            steps=(),
        )

    with TestClient(create_app(replace(services, plan=plan)), base_url=BASE, headers=bearer) as client:
        body = {"target": "chat/local/zone-a", "inputs": {"ramp": "5s"}}
        answer = client.post("/api/v1/playbooks/move/plan", json=body)
        assert (answer.status_code, answer.json()["capacity"]["healthyAfter"]) == (200, 8)
        assert (asked[0].target, asked[0].inputs) == ("chat/local/zone-a", {"ramp": "5s"})
        missing = client.post("/api/v1/playbooks/moove/plan", json=body)
        assert (missing.status_code, missing.json()["hint"]) == (404, "did you mean `move`?")


def test_without_a_platform_there_is_no_plan(services: Services, bearer: dict[str, str]) -> None:
    with TestClient(create_app(services), base_url=BASE, headers=bearer) as client:
        answer = client.post("/api/v1/playbooks/move/plan", json={"target": "chat"})
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
