"""Authors begin with a playbook that works, are told what is doubtful, and get one layout."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controlplane.bootstrap.documents import action_registry, load_files
from controlplane.kernel.tidy import tidy
from controlplane.rehearsal.report import rehearse
from controlplane.rehearsal.suite import suites
from tests.meta.tree import ROOT

Fleetward = Callable[..., Any]


@pytest.fixture
def begun(fleetward: Fleetward, tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    assert fleetward("playbook", "new", "first-try", "-d", folder).code == 0
    assert sorted(file.name for file in folder.iterdir()) == ["first-try.test.yaml", "first-try.yaml"]
    return folder


@pytest.mark.timeout(30)  # commands that load the catalogues
def test_a_new_playbook_is_valid_and_laid_out(fleetward: Fleetward, begun: Path) -> None:
    assert fleetward("playbook", "lint", begun, "--strict").code == 0
    assert fleetward("playbook", "fmt", begun, "--check").code == 0


@pytest.mark.timeout(30)  # the first run of the offline runner in a process builds its tables
def test_a_new_playbook_passes_its_own_test(begun: Path) -> None:
    results = rehearse(suites(load_files([begun], tests=True)), action_registry())
    assert [(result.passed, result.why) for result in results] == [(True, "")]


def test_nothing_is_overwritten(fleetward: Fleetward, tmp_path: Path) -> None:
    (tmp_path / "a.test.yaml").write_text("mine")
    assert fleetward("playbook", "new", "a", "-d", tmp_path).error is not None
    assert [file.name for file in tmp_path.glob("*.yaml")] == ["a.test.yaml"]


@pytest.mark.parametrize("name", ["A", "a b", "../a", "", "-a"])
def test_a_name_is_a_name(fleetward: Fleetward, tmp_path: Path, name: str) -> None:
    assert fleetward("playbook", "new", "-d", tmp_path, "--", name).error is not None
    assert list(tmp_path.rglob("*.yaml")) == []


DOUBTFUL = """\
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: a}
spec:
  inputs: {ramp: {type: duration, default: 2s}}
  steps: [{id: x, uses: traffic.shift, with: {zone: a, weight: 0}}]
"""


@pytest.mark.timeout(30)  # commands that load the catalogues
def test_lint_tells_warnings_by_their_code(fleetward: Fleetward, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(DOUBTFUL)
    plain = fleetward("playbook", "lint", tmp_path)
    assert plain.code == 0
    assert "a.yaml:5:12: spec.inputs.ramp: warning: nothing reads the input `ramp`" in plain.text
    assert "0 errors, 1 warnings" in plain.text
    strict = fleetward("playbook", "lint", tmp_path, "--strict", "-o", "json")
    assert strict.code == 1
    assert [(each["code"], each["severity"]) for each in strict.json()] == [("unused-input", "warning")]
    assert fleetward("validate", tmp_path).code == 0


SHIPPED = [ROOT / "playbooks", ROOT / "chaos" / "catalog", ROOT / "chaos" / "lab" / "fleet"]


@pytest.mark.timeout(30)  # commands that load the catalogues
def test_what_is_shipped_is_beyond_doubt(fleetward: Fleetward) -> None:
    told = fleetward("playbook", "lint", *SHIPPED, "--strict").text
    assert told.splitlines()[-1].endswith("0 errors, 0 warnings"), told


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_what_is_shipped_is_laid_out(folder: Path) -> None:
    for file in sorted(folder.glob("*.yaml")):
        if file.stat().st_size < 4096:  # the long ones take the patience of a unit test
            assert tidy(file.read_text("utf-8"), file.name) == file.read_text("utf-8"), file.name


def test_fmt_writes_what_it_changes_and_leaves_what_it_cannot(fleetward: Fleetward, tmp_path: Path) -> None:
    file, broken = tmp_path / "a.yaml", tmp_path / "b.yaml"
    file.write_text("kind: Playbook   # why\napiVersion: fleetward.dev/v1\n")
    broken.write_text("a: [\n")
    assert fleetward("playbook", "fmt", tmp_path, "--check").code == 1
    assert file.read_text().startswith("kind")
    assert fleetward("playbook", "fmt", tmp_path).code == 1
    assert file.read_text() == "apiVersion: fleetward.dev/v1\nkind: Playbook   # why\n"
    assert broken.read_text() == "a: [\n"
    assert fleetward("playbook", "fmt", file, "--check").code == 0
