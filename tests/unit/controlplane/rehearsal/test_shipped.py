"""The tests beside the shipped playbooks pass, and each playbook has one."""

from pathlib import Path

import pytest

from controlplane.bootstrap.documents import action_registry, load_files
from controlplane.model.playbook import Playbook
from controlplane.model.rehearsal import PlaybookTest
from controlplane.rehearsal import report
from controlplane.rehearsal.report import rehearse
from controlplane.rehearsal.suite import suites

FOLDER = Path(__file__).parents[4] / "playbooks"


@pytest.mark.timeout(120)  # every case of every shipped playbook
def test_every_case_of_the_shipped_playbooks_passes() -> None:
    results = rehearse(suites(load_files([FOLDER], tests=True).raise_problems()), action_registry())
    failed = {f"{one.playbook}: {one.name}": [*one.difference, one.why, one.error] for one in results}
    assert {name: why for name, why in failed.items() if why != ["", ""]} == {}


def test_every_shipped_playbook_has_a_test_that_ends_well_and_one_that_does_not() -> None:
    bundle = load_files([FOLDER], tests=True).raise_problems()
    models = [entry.model for entry in bundle.loaded]
    ends = {model.name: set[str]() for model in models if isinstance(model, Playbook)}
    for model in models:
        if isinstance(model, PlaybookTest):
            ends[model.spec.playbook] |= {
                str(case.expect.state or case.expect.decision) for case in model.spec.cases
            }
    assert ends
    assert {name for name, found in ends.items() if "succeeded" not in found} == set()
    assert {name for name, found in ends.items() if len(found) < 3} == set()


def test_cases_that_share_the_cores_come_out_as_those_that_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = suites(load_files([FOLDER], tests=True).raise_problems())
    monkeypatch.setattr(report, "_cores", lambda: 2)

    def played(few: int) -> list[tuple[object, ...]]:
        monkeypatch.setattr(report, "FEW", few)
        results = rehearse(loaded, action_registry(), "cache-prewarm")
        return [
            (one.name, one.line, one.difference, one.why, one.error, one.virtual_seconds) for one in results
        ]

    alone, shared = played(1000), played(3)
    assert len(alone) >= 6
    assert shared == alone
