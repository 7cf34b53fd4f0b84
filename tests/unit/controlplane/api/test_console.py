"""The built console: files by name, the page itself for its views, and nothing outside its folder."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from controlplane.api.app import create_app
from controlplane.api.services import Services


def test_hashed_files_are_kept_for_ever(client: TestClient) -> None:
    answer = client.get("/assets/index-abc.js")
    assert answer.text == "export {};"
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/javascript")


@pytest.mark.parametrize("path", ["/", "/incidents", "/runs/run-01", "/drills/a.b", "/sign-in"])
def test_views_are_the_page_asked_for_anew(client: TestClient, path: str) -> None:
    answer = client.get(path, headers={"Accept": "text/html"})
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"
    assert "<title>Fleetward</title>" in answer.text


@pytest.mark.parametrize("path", ["/assets/gone.js", "/favicon.ico"])
def test_a_missing_file_is_not_the_page(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/%2e%2e/secret.txt", "/assets/%2e%2e%2f%2e%2e%2fsecret.txt", "//etc/passwd"]
)
def test_nothing_outside_the_folder_is_served(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert "not served" not in answer.text
    assert "root:" not in answer.text


def test_an_unknown_api_path_is_a_problem_not_the_page(client: TestClient) -> None:
    answer = client.get("/api/v1/nothing", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_missing_build_says_how_to_make_one(services: Services) -> None:
    bare = replace(services, settings=replace(services.settings, console=None))
    with TestClient(create_app(bare), base_url="http://127.0.0.1") as client:
        answer = client.get("/")
    assert answer.status_code == 503
    assert "npm" in answer.text
