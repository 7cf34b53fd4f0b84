"""The matrix of engines and indicators over the API."""

from __future__ import annotations

from fastapi.testclient import TestClient

from controlplane.api.app import create_app
from controlplane.api.services import Services


def test_every_release_has_a_grade_for_every_indicator(services: Services) -> None:
    with TestClient(create_app(services), base_url="http://127.0.0.1:8700") as client:
        found = client.get("/api/v1/engines").json()
    names = [each["name"] for each in found["indicators"]]
    assert {each["name"] for each in found["engines"]} >= {"vllm", "sglang", "tgi", "triton", "dynamo", "nim"}
    for engine in found["engines"]:
        for generation in engine["generations"]:
            assert [row["indicator"] for row in generation["indicators"]] == names
