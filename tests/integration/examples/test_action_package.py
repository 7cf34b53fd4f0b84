"""The example of a third party's action: built as a wheel, found by its entry point, and used."""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from typer.testing import CliRunner

from controlplane.bootstrap.documents import action_registry
from controlplane.cli.main import build
from controlplane.model.outcome import Done
from tests.meta.tree import ROOT
from tests.support.steps import StepDriver

EXAMPLE = ROOT / "docs/examples/fleetward-action-example"
PLAYBOOK = """
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: quiet}
spec:
  triggers: [{type: manual}]
  steps:
    - {id: quiet, uses: USES, with: {zone: zone-a, atMost: 2}}
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    (built,) = WheelBuilder(str(EXAMPLE)).build(directory=str(folder), versions=["standard"])
    return Path(built)


@pytest.fixture
def installed(wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install it as a wheel without dependencies is installed: unpacked into a folder of the path."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield
    sys.modules.pop("fleetward_action_example", None)


def validate(tmp_path: Path, uses: str) -> tuple[int, str]:
    file = tmp_path / "quiet.yaml"
    file.write_text(PLAYBOOK.replace("USES", uses))
    result = CliRunner().invoke(build(), ["validate", str(file)])
    return result.exit_code, result.output


def test_without_the_package_its_action_is_unknown(tmp_path: Path) -> None:
    code, output = validate(tmp_path, "zone.quiet")

    assert code != 0
    assert "unknown action `zone.quiet`" in output


@pytest.mark.usefixtures("installed")
def test_with_it_playbooks_may_use_the_action_and_are_told_of_typing_errors(tmp_path: Path) -> None:
    assert validate(tmp_path, "zone.quiet")[0] == 0

    code, output = validate(tmp_path, "zone.quite")
    assert code != 0
    assert "zone.quiet" in output


@pytest.mark.usefixtures("installed")
def test_the_action_runs_as_a_step() -> None:
    step = StepDriver(action_registry().get("zone.quiet"), zone="zone-a", atMost=2)
    step.platform.set_requests("replica-a1-0", 5)
    step.call()
    step.platform.set_requests("replica-a1-0", 1)

    assert step.run() == Done({"requests": 1})
    assert step.reasons == ["5 requests, 2 may be"]


def test_its_own_tests_pass() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=EXAMPLE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
