"""The command line: what operators type, what they get, and the exit codes that are documented."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.kernel.errors import InvalidDocuments, InvalidInput, NotFound
from tests.unit.controlplane.cli.conftest import Result

Fleetward = Callable[..., Result]
pytestmark = pytest.mark.timeout(30)  # a whole command line, files and a database, several times a test
ROOT = Path(__file__).parents[4]

BAD = """\
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: broken}
spec:
  when: incidnt.zone == "zone-a"
  retries: 3
  steps:
    - id: shift
      uses: trafic.shift
      timeout: 2 minutes
      with: {zone: zone-a, weight: 0}
    - id: wait
      uses: query.wait
      with: {query: up, condition: result > 0, intervall: 5s}
  steps: []
"""


def test_validate_reports_every_mistake_with_its_place_and_what_is_valid(
    fleetward: Fleetward, tmp_path: Path
) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(BAD)
    done = fleetward("validate", file, "-o", "json")
    assert done.code == 1
    found = {(each["line"], each["column"]): each for each in done.json()}
    keys = {"file", "line", "column", "path", "message", "suggestion", "code", "severity"}
    assert set(found[6, 3]) == keys
    assert {where: each["message"] for where, each in found.items()} == {
        (5, 9): '`incidnt.zone == "zone-a"`: unknown name `incidnt`',
        (6, 3): "unknown key `retries`",
        (9, 13): "unknown action `trafic.shift`",
        (10, 16): "'2 minutes' is not a duration",
        (14, 48): "unknown parameter `intervall`",
        (15, 3): "duplicate key `steps`",
    }
    assert found[9, 13]["suggestion"] == "did you mean `traffic.shift`?"
    assert found[14, 48]["suggestion"] == "did you mean `interval`?"
    assert found[9, 13]["path"] == "spec.steps[0].uses"
    assert found[9, 13]["file"] == str(file)


def test_validate_writes_file_line_column_for_people(fleetward: Fleetward, tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(BAD)
    done = fleetward("validate", file)
    assert done.code == 1
    assert f"{file}:9:13: spec.steps[0].uses: unknown action `trafic.shift`; did you mean" in done.text
    assert "6 problems" in done.text


def test_everything_shipped_is_valid(fleetward: Fleetward) -> None:
    done = fleetward("validate", ROOT / "playbooks", ROOT / "chaos/lab/fleet", ROOT / "chaos/catalog")
    assert done.text.strip().endswith("no problem")
    assert done.code == 0


def test_a_reference_to_what_is_not_there_is_a_mistake(fleetward: Fleetward, tmp_path: Path) -> None:
    drill = (ROOT / "chaos/catalog/gray-zone.yaml").read_text()
    (tmp_path / "drill.yaml").write_text(
        drill.replace("kind: zone.gray", "kind: zone.grey").replace("service: chat", "service: chta")
    )
    messages = [
        each["message"]
        for each in fleetward("validate", tmp_path, ROOT / "chaos/lab/fleet", "-o", "json").json()
    ]
    assert "unknown fault `zone.grey`" in messages
    assert "there is no Service `chta`" in messages


def test_apply_of_a_bundle_with_mistakes_changes_nothing_and_says_all(
    fleetward: Fleetward, tmp_path: Path
) -> None:
    fleetward("apply", ROOT / "playbooks", ROOT / "chaos/lab/fleet")
    file = tmp_path / "broken.yaml"
    file.write_text(BAD)
    done = fleetward("apply", ROOT / "playbooks", file)
    assert isinstance(done.error, InvalidDocuments)
    assert len(done.error.problems) == 6


def test_applying_the_same_again_keeps_the_revisions(fleetward: Fleetward) -> None:
    first = fleetward("apply", ROOT / "playbooks", "-o", "json").json()
    assert first == fleetward("apply", ROOT / "playbooks", "-o", "json").json()
    assert {each["name"] for each in first} == {
        "zone-failover",
        "zone-failback",
        "hung-replica",
        "gray-replica-isolate",
        "crash-loop",
        "replica-return",
        "gpu-ladder",
        "shed-load",
        "readmit-load",
        "scale-out",
        "scale-in",
        "prometheus-blind",
        "budget-freeze",
        "node-quarantine",
        "scheduled-restart",
        "cache-prewarm",
    }


def test_apply_can_make_the_policy_stricter_and_refuses_unknown_modes(fleetward: Fleetward) -> None:
    auto = fleetward("apply", ROOT / "chaos/lab/fleet/policy.yaml", "-o", "json").json()
    observe = fleetward(
        "apply", ROOT / "chaos/lab/fleet/policy.yaml", "--mode", "observe", "-o", "json"
    ).json()
    assert auto[0]["sha256"] != observe[0]["sha256"]
    assert fleetward("apply", ROOT / "chaos/lab/fleet/policy.yaml", "--mode", "observ").code == 2


def test_a_halt_has_a_scope_a_reason_and_an_end_and_can_be_lifted(fleetward: Fleetward) -> None:
    made = fleetward(
        "halt", "--zone", "zone-b", "--for", "2h", "--reason", "network works", "-o", "json"
    ).json()
    assert (made["zone"], made["reason"]) == ("zone-b", "network works")
    assert made["expiresAt"] > made["createdAt"]
    assert [each["id"] for each in fleetward("resume", "-o", "json").json()] == [made["id"]]
    fleetward("resume", made["id"])
    assert fleetward("resume", "-o", "json").json() == []


def test_a_halt_without_a_good_reason_scope_or_time_is_refused(fleetward: Fleetward) -> None:
    assert fleetward("halt").code == 2
    assert isinstance(fleetward("halt", "--reason", " ").error, InvalidInput)
    assert isinstance(fleetward("halt", "--reason", "x", "--for", "2").error, InvalidInput)
    assert isinstance(fleetward("halt", "--reason", "x", "--target", "a//b").error, InvalidInput)
    assert fleetward("resume", "-o", "json").json() == []


@pytest.mark.parametrize("argv", [("runs", "show", "run-1"), ("resume", "halt-1"), ("why", "inc-1")])
def test_what_is_not_there_is_said_so(fleetward: Fleetward, argv: tuple[str, ...]) -> None:
    assert isinstance(fleetward(*argv).error, NotFound)


def test_an_empty_installation_answers_in_sentences(fleetward: Fleetward) -> None:
    assert fleetward("runs").text.strip() == "No run yet."
    assert fleetward("incidents").text.strip() == "No open incident."
    assert "Nothing was decided about chat/local/zone-b yet" in fleetward("why", "chat/local/zone-b").text
    assert fleetward("runs", "-o", "json").json() == []


def test_the_admin_token_is_shown_once_and_a_sign_in_address_each_time(fleetward: Fleetward) -> None:
    assert fleetward("admin-token", "-o", "json").json()["token"]
    assert fleetward("admin-token", "-o", "json").json()["token"] is None
    addresses = {fleetward("login", "-o", "json").json()["address"] for _ in range(2)}
    assert len(addresses) == 2
    assert all("/#token=" in address for address in addresses)


def test_every_command_teaches(fleetward: Fleetward) -> None:
    for argv in [(), ("runs",), ("drill",), ("chaos",)]:
        done = fleetward(*argv, "--help")
        assert done.code == 0
        assert "Usage" in done.text
