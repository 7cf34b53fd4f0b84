"""The published schemas say what the loader says: what is shipped passes, what is wrong does not."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from controlplane.bootstrap.documents import action_registry, json_schemas
from controlplane.cli.main import build
from controlplane.kernel.yaml import load_documents
from tests.meta.tree import ROOT

FOLDERS = ("playbooks", "chaos/catalog", "chaos/lab/fleet")
SHIPPED = [
    (file.relative_to(ROOT).as_posix(), document.data)
    for folder in FOLDERS
    for file in sorted((ROOT / folder).glob("*.yaml"))
    for document in load_documents(file.read_text("utf-8"), str(file))
]
SCHEMAS = json_schemas()
OF_TESTS = {"weights", "outputs", "with", "inputs", "done"}
"""Maps of a PlaybookTest whose keys are the author's."""


def errors(data: dict[str, Any]) -> list[str]:
    validator = Draft202012Validator(SCHEMAS[data["kind"].lower()])
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(data)]


def playbook(**step: Any) -> dict[str, Any]:
    return {
        "apiVersion": "fleetward.dev/v1",
        "kind": "Playbook",
        "metadata": {"name": "a"},
        "spec": {"steps": [{"id": "one", **step}]},
    }


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_one_and_has_a_description(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["description"]


@pytest.mark.parametrize(("file", "data"), SHIPPED)
def test_every_shipped_document_passes(file: str, data: dict[str, Any]) -> None:
    assert errors(data) == []


def _maps(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    mine = (
        [path] if isinstance(value, dict) and not {"labels", "annotations", "inputs"} & set(path[-1:]) else []
    )
    return mine + [found for key, part in inside for found in _maps(part, (*path, key))]


@pytest.mark.parametrize(("file", "data"), SHIPPED)
def test_an_unknown_key_anywhere_in_a_shipped_document_does_not_pass(file: str, data: dict[str, Any]) -> None:
    if data["kind"] == "PlaybookTest":  # its cases are alike, and many
        data = {**data, "spec": {**data["spec"], "cases": data["spec"]["cases"][:3]}}
    open_ = OF_TESTS if data["kind"] == "PlaybookTest" else {"parameters"}
    free = [path for path in _maps(data) if not open_ & {*path[-1:]}]
    for path in free:
        changed = deepcopy(data)
        place: Any = changed
        for part in path:
            place = place[part]
        place["unknownKey"] = 1
        assert errors(changed) != [], path


@pytest.mark.parametrize(
    "step",
    [
        {"uses": "traffic.shift", "with": {"zone": "a", "weight": 0, "over": "5s"}},
        {"uses": "traffic.shift", "with": {"zone": "{{ incident.zone }}", "weight": "{{ inputs.w }}"}},
        {"uses": "traffic.restore", "with": {"zone": "a", "stages": [5, "{{ inputs.w }}"]}},
        {"uses": "capacity.check", "with": {"without": "a", "atLeast": 1, "perReplica": 5}, "timeout": 0},
    ],
)
def test_good_steps_pass(step: dict[str, Any]) -> None:
    assert errors(playbook(**step)) == []


@pytest.mark.parametrize(
    "step",
    [
        {"uses": "trafic.shift", "with": {"zone": "a", "weight": 0}},
        {"uses": "traffic.shift"},
        {"uses": "traffic.shift", "with": {"zone": "a"}},
        {"uses": "traffic.shift", "with": {"zone": "a", "weight": 101}},
        {"uses": "traffic.shift", "with": {"zone": "a", "weight": "much"}},
        {"uses": "traffic.shift", "with": {"zone": "a", "weight": 0, "wieght": 0}},
        {"uses": "traffic.shift", "with": {"zone": "a", "weight": 0, "over": "5 secs"}},
        {"uses": "traffic.shift", "with": {"zone": "a", "weight": 0, "over": 5}},
        {"uses": "traffic.shift", "with": {"zone": "a", "weight": 0}, "timeout": 30},
        {"uses": "capacity.check", "with": {"without": "a", "at_least": 1, "perReplica": 5}},
    ],
)
def test_wrong_steps_do_not_pass(step: dict[str, Any]) -> None:
    assert errors(playbook(**step)) != []


@pytest.mark.parametrize(("target", "good"), [("99.9%", True), (0.999, True), (99.9, False), ("99.9", False)])
def test_a_ratio_is_never_ambiguous(target: object, good: bool) -> None:
    slo = {
        "apiVersion": "fleetward.dev/v1",
        "kind": "SLO",
        "metadata": {"name": "s"},
        "spec": {"service": "chat", "indicator": "ttft", "threshold": "1s", "target": target},
    }
    assert (errors(slo) == []) is good


@pytest.mark.parametrize("key", ["apiVersion", "kind", "metadata", "spec"])
def test_the_envelope_is_needed(key: str) -> None:
    whole = playbook(uses="traffic.shift", **{"with": {"zone": "a", "weight": 0}})
    schema = SCHEMAS["playbook"]
    assert list(Draft202012Validator(schema).iter_errors({k: v for k, v in whole.items() if k != key})) != []


def test_every_installed_action_is_known_to_the_editor() -> None:
    step = SCHEMAS["playbook"]["$defs"]["Step"]
    assert [choice["const"] for choice in step["properties"]["uses"]["oneOf"]] == action_registry().names()
    assert all(choice["description"] for choice in step["properties"]["uses"]["oneOf"])


def test_defaults_are_written_as_an_author_would() -> None:
    assert SCHEMAS["playbook"]["$defs"]["Step"]["properties"]["timeout"]["default"] == "5m"


@pytest.mark.timeout(30)  # three commands, each of which loads the catalogues
def test_the_schemas_are_written_to_a_folder(tmp_path: Path) -> None:
    run = CliRunner().invoke
    assert run(build(), ["schema", "-o", str(tmp_path / "new")]).exit_code == 0
    assert sorted(file.stem for file in (tmp_path / "new").iterdir()) == sorted(SCHEMAS)
    told = run(build(), ["schema", "slo"]).output
    assert '"title": "SLO"' in told
    assert "Playbook" not in told
    assert run(build(), ["schema", "playbok"]).exit_code != 0
