"""One whole lab for the tests of this folder, and the questions they ask it."""

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from chaos.lab.layout import LabSettings
from chaos.lab.supervisor import Lab


class Users:
    """Everything a test asks a running lab."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.http = httpx.Client(timeout=10, trust_env=False)
        self._keys = itertools.count()

    def url(self, name: str) -> str:
        return str(self.lab.addresses[name])

    def get(self, name: str, path: str) -> Any:
        response = self.http.get(self.url(name) + path)
        response.raise_for_status()
        return response.json()

    def truth(self, since: float = 0.0) -> list[dict[str, Any]]:
        """Requests sent at or after a time."""
        return [
            request for request in self.get("traffic", "/truth")["requests"] if request["sentAt"] >= since
        ]

    def weights(self) -> dict[str, Any]:
        answer: dict[str, Any] = self.get("platform", "/v1/weights")
        return answer

    def writes(self) -> list[dict[str, Any]]:
        answer: list[dict[str, Any]] = self.get("platform", "/v1/writes")["writes"]
        return answer

    def by(self, run: str = "run-1", fence: int = 1, key: str | None = None) -> dict[str, Any]:
        key = key or f"{run}-{next(self._keys)}-{time.time()}"
        return {"run": run, "step": "shift", "attempt": 1, "fence": fence, "key": key}

    def put(
        self, by: dict[str, Any] | None = None, expected: str | None = None, **zones: int
    ) -> httpx.Response:
        """Write weights: ``put(a=0)`` takes zone-a out, the others get 100."""
        weights = {f"zone-{letter}": zones.get(letter, 100) for letter in "abc"}
        body = {"weights": weights, "expectedVersion": expected, "by": by}
        return self.http.put(self.url("platform") + "/v1/weights", json=body)

    def replicas(self) -> dict[str, dict[str, Any]]:
        """Replicas of the topology by name."""
        topology = self.get("platform", "/v1/topology")
        nodes = [node for zone in topology["zones"] for node in zone["nodes"]]
        return {replica["name"]: replica for node in nodes for replica in node["replicas"]}

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Nodes of the topology by name."""
        topology = self.get("platform", "/v1/topology")
        return {node["name"]: node for zone in topology["zones"] for node in zone["nodes"]}

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """An instant query: label sets and values."""
        response = self.http.get(self.url("prometheus") + "/api/v1/query", params={"query": expression})
        document = response.json()
        assert document["status"] == "success", document
        return [(entry["metric"], float(entry["value"][1])) for entry in document["data"]["result"]]


def wait_until(condition: Callable[[], Any], seconds: float) -> Any:
    """Ask until the answer is true; the last answer otherwise, so that an assertion shows it."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()) and time.monotonic() < deadline:
        time.sleep(0.1)
    return answer


def wait_ready(users: Users) -> None:
    """All replicas serve and Envoy knows it."""
    users.lab.wait_ready(timeout=60)


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    lab = Lab(tmp_path_factory.mktemp("lab"), LabSettings(seed=11))
    lab.start()
    yield lab
    lab.stop()


@pytest.fixture
def users(running: Lab) -> Iterator[Users]:
    """The lab, whole and with equal weights before and after."""
    users = Users(running)
    yield users
    for record in running.dead():
        running.table.respawn(record.name)
    wait_until(lambda: users.put().is_success, 10)
    wait_ready(users)
    users.http.close()


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    return tmp_path / "state"
