"""``fleetward playbook test``: what it prints, what it refuses, and the exit codes."""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from controlplane.kernel.errors import InvalidDocuments
from tests.unit.controlplane.cli.conftest import Result
from tests.unit.controlplane.rehearsal.conftest import PLAYBOOK

Fleetward = Callable[..., Result]
pytestmark = pytest.mark.timeout(60)  # a whole command line, and runs played to their end

TEST = """\
apiVersion: fleetward.dev/v1
kind: PlaybookTest
metadata: {name: evacuate}
spec:
  playbook: evacuate
  cases:
    - name: the zone loses its traffic
      event: {target: chat/local/zone-a, signal: "slo:chat-success"}
      expect: {state: succeeded, steps: [{id: tell}, {id: shift}]}
    - name: nothing while automation is halted
      event: {target: chat/local/zone-a, signal: "slo:chat-success"}
      halts: [works]
      expect: {decision: refused}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "somewhere" / "else"
    made.mkdir(parents=True)
    (made / "evacuate.yaml").write_text(PLAYBOOK)
    (made / "evacuate.test.yaml").write_text(TEST)
    return made


def test_a_folder_anywhere(fleetward: Fleetward, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    done = fleetward("playbook", "test", folder)
    assert done.code == 0
    assert done.text.splitlines()[:2] == [
        "passed  evacuate: the zone loses its traffic",
        "passed  evacuate: nothing while automation is halted",
    ]
    assert done.text.splitlines()[-1].startswith("2 passed in ")
    assert not (folder / ".fleetward").exists()


def test_a_single_test_file_or_playbook_and_a_single_case(fleetward: Fleetward, folder: Path) -> None:
    (folder / "broken.yaml").write_text("kind: Nothing\n")  # not what was asked about
    for file in ("evacuate.test.yaml", "evacuate.yaml"):
        done = fleetward("playbook", "test", folder / file, "-k", "HALTED", "-o", "json")
        assert (done.code, [case["name"] for case in done.json()["cases"]]) == (
            0,
            ["nothing while automation is halted"],
        )


def test_two_folders_may_have_one_playbooks_name(fleetward: Fleetward, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for file in folder.iterdir():
        (other / file.name).write_text(file.read_text())
    assert fleetward("playbook", "test", folder, other, "-o", "json").json()["passed"] == 4


def test_a_failed_case_shows_what_differs_and_where(fleetward: Fleetward, folder: Path) -> None:
    file = folder / "evacuate.test.yaml"
    file.write_text(TEST.replace("[{id: tell}, {id: shift}]", "[{id: shift}, {id: tell}]"))
    done = fleetward("playbook", "test", folder)
    assert done.code == 1
    lines = done.text.splitlines()
    assert lines[0] == "FAILED  evacuate: the zone loses its traffic"
    assert lines[1].strip() == f"{file}:7"
    assert [line.strip() for line in lines if line[6:8] in {"- ", "+ "}] == [
        "+   - {id: tell, is: succeeded}",
        "-   - {id: tell, is: succeeded}",
    ]
    assert lines[-1].startswith("1 passed, 1 failed in ")
    found = fleetward("playbook", "test", folder, "-o", "json").json()
    assert (found["passed"], found["failed"]) == (1, 1)
    assert found["cases"][0]["line"] == 7
    assert "-   - {id: tell, is: succeeded}" in found["cases"][0]["difference"]


def test_junit_names_files_failures_and_errors(fleetward: Fleetward, folder: Path) -> None:
    text = TEST.replace("state: succeeded", "state: failed")
    place = text.rindex("zone-a")
    text = text[:place] + "zone-x" + text[place + len("zone-a") :]
    (folder / "evacuate.test.yaml").write_text(text)
    done = fleetward("playbook", "test", folder, "-o", "junit")
    assert done.code == 1
    (suite,) = ET.fromstring(done.text)
    counted = {key: suite.get(key) for key in ("name", "tests", "failures", "errors")}
    assert counted == {"name": "evacuate", "tests": "2", "failures": "1", "errors": "1"}
    failed, broken = suite
    assert failed[0].text is not None
    assert "- state: failed\n+ state: succeeded" in failed[0].text
    assert "no target `chat/local/zone-x`" in str(broken[0].get("message"))


def test_invalid_files_are_all_reported_and_nothing_is_run(fleetward: Fleetward, folder: Path) -> None:
    text = TEST.replace("playbook: evacuate", "playbook: evacute").replace("halts:", "halt:")
    (folder / "evacuate.test.yaml").write_text(text)
    done = fleetward("playbook", "test", folder)
    assert isinstance(done.error, InvalidDocuments)
    assert [(each.line, each.message) for each in done.error.problems] == [
        (5, "there is no Playbook `evacute`"),
        (12, "unknown key `halt`"),
    ]


def test_nothing_to_run_is_wrong_use(fleetward: Fleetward, folder: Path, tmp_path: Path) -> None:
    assert fleetward("playbook", "test", folder, "-k", "nothing like it").code == 2
    (tmp_path / "empty").mkdir()
    assert fleetward("playbook", "test", tmp_path / "empty").code == 2
    assert fleetward("playbook", "test", tmp_path / "not there").code == 2


def test_validate_checks_tests_and_apply_leaves_them_out(fleetward: Fleetward, folder: Path) -> None:
    files = (folder / "evacuate.yaml", folder / "evacuate.test.yaml")
    assert [each["kind"] for each in fleetward("apply", *files, "-o", "json").json()] == ["Playbook"]
    files[1].write_text(TEST.replace("halts:", "halt:"))
    found = fleetward("validate", folder, "-o", "json")
    assert (found.code, [each["message"] for each in found.json()]) == (1, ["unknown key `halt`"])
