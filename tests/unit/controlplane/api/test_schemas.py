"""Editors read the kinds' schemas from the API, without signing in."""

from dataclasses import replace

from fastapi.testclient import TestClient

from controlplane.api.app import create_app
from controlplane.api.services import Services
from controlplane.bootstrap.documents import json_schemas


def test_every_schema_has_an_address(services: Services) -> None:
    made = json_schemas()
    app = create_app(replace(services, schemas=made))
    with TestClient(app, base_url="http://127.0.0.1:8700") as client:
        for folder in ("/schemas", "/schemas/"):
            index = client.get(folder).json()
            assert sorted(index) == sorted(made)
        assert [client.get(address).json()["title"] for address in index.values()] == [
            schema["title"] for schema in made.values()
        ]
        answer = client.get("/schemas/playbok.json")
        assert (answer.status_code, answer.json()["hint"]) == (404, "did you mean `playbook`?")
