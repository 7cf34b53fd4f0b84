"""A playbook that somebody edits is judged by the code that will load it."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

BROKEN = """\
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: zone-failover}
spec:
  stpes: []
"""


@pytest.mark.timeout(30)  # the first to load the catalogue of actions
def test_each_mistake_has_a_position_and_what_is_valid(client: TestClient) -> None:
    answer = client.post("/api/v1/playbooks/validate", json={"text": BROKEN, "file": "zone.yaml"}).json()
    assert answer["valid"] is False
    unknown = next(each for each in answer["diagnostics"] if each["message"] == "unknown key `stpes`")
    assert (unknown["file"], unknown["line"], unknown["column"]) == ("zone.yaml", 5, 3)
    assert unknown["suggestion"] == "did you mean `steps`?"


DOUBTFUL = """\
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: a}
spec:
  inputs: {ramp: {type: duration, default: 2s}}
  steps: [{id: x, uses: traffic.shift, with: {zone: a, weight: 0}}]
"""


def test_a_doubt_is_told_and_the_file_is_valid(client: TestClient) -> None:
    answer = client.post("/api/v1/playbooks/validate", json={"text": DOUBTFUL}).json()
    assert answer["valid"] is True
    told = [(each["code"], each["severity"], each["line"]) for each in answer["diagnostics"]]
    assert told == [("unused-input", "warning", 5)]


def test_text_that_is_no_yaml_is_a_diagnostic_not_a_failure(client: TestClient) -> None:
    answer = client.post("/api/v1/playbooks/validate", json={"text": "a: [1,\nb: }"})
    assert answer.status_code == 200
    assert answer.json()["valid"] is False


def test_a_text_beyond_the_limit_is_refused(client: TestClient) -> None:
    answer = client.post("/api/v1/playbooks/validate", json={"text": "#" * (1024 * 1024 + 1)})
    assert answer.status_code == 422
