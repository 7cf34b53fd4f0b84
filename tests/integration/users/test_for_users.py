"""What other repositories take from this one: the pre-commit hooks and the GitHub Action, run as they say."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.meta.tree import ROOT
from tests.unit.controlplane.rehearsal.test_docs import PLAYBOOK, TEST

pytestmark = pytest.mark.slow
HOOKS = YAML(typ="safe").load(ROOT / ".pre-commit-hooks.yaml")
ACTION = YAML(typ="safe").load(ROOT / "action.yml")


@pytest.fixture(params=[True, False], ids=["good", "bad"])
def repository(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, bool]:
    folder = tmp_path / "playbooks"
    folder.mkdir()
    (folder / "evacuate.yaml").write_text(PLAYBOOK)
    text = TEST if request.param else TEST.replace("writes: 1", "writes: 2")
    (folder / "evacuate.test.yaml").write_text(text)
    return tmp_path, request.param


def run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_hooks_pass_what_is_good_and_stop_what_is_not(repository: tuple[Path, bool]) -> None:
    folder, good = repository
    codes = {}
    for hook in HOOKS:
        assert (hook["language"], hook["pass_filenames"]) == ("python", False)
        codes[hook["id"]] = run([*shlex.split(hook["entry"]), *hook["args"]], folder).returncode
    assert codes == {"fleetward-validate": 0, "fleetward-playbook-test": 0 if good else 1}


def test_the_action_validates_tests_and_reports(repository: tuple[Path, bool]) -> None:
    folder, good = repository
    steps: dict[str, Any] = {step.get("name", ""): step for step in ACTION["runs"]["steps"]}
    given = {name: str(one["default"]) for name, one in ACTION["inputs"].items()} | {"report": "report.xml"}
    codes = []
    for name in ("Validate", "Test"):
        asked = {key: value.split("inputs.")[1].split()[0] for key, value in steps[name]["env"].items()}
        environment = {key: given[value] for key, value in asked.items()}
        done = run(["bash", "-eo", "pipefail", "-c", steps[name]["run"]], folder, **environment)
        codes.append(done.returncode)
    assert codes == [0, 0 if good else 1]
    assert f'failures="{0 if good else 1}"' in (folder / "report.xml").read_text()
