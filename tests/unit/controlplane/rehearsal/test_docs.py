"""The page about playbook tests tells the truth: its playbook and its test are played."""

import re
from pathlib import Path

import pytest

from controlplane.bootstrap.documents import action_registry
from controlplane.model.documents import load_bundle
from controlplane.rehearsal.report import rehearse
from controlplane.rehearsal.suite import suites

PAGE = (Path(__file__).parents[4] / "docs" / "playbook-tests.md").read_text("utf-8")
PLAYBOOK, TEST = re.findall(r"```yaml\n(apiVersion.*?)```", PAGE, re.DOTALL)


@pytest.mark.timeout(60)  # runs played to their end
def test_the_example_passes() -> None:
    bundle = load_bundle([("evacuate.yaml", PLAYBOOK), ("evacuate.test.yaml", TEST)]).raise_problems()
    results = rehearse(suites(bundle), action_registry())
    assert len(results) == 4
    assert {one.name: [*one.difference, one.error] for one in results if not one.passed} == {}


@pytest.mark.timeout(60)
def test_the_example_of_a_difference_is_one() -> None:
    order = "          - {id: tell, is: succeeded, outputs: {to: oncall}}\n"
    assert order in TEST
    place = "weight: 0}}\n"
    late = TEST.replace(order, "").replace(place, place + order, 1)
    bundle = load_bundle([("evacuate.yaml", PLAYBOOK), ("evacuate.test.yaml", late)]).raise_problems()
    (result,) = [one for one in rehearse(suites(bundle), action_registry(), "loses") if not one.passed]
    marked = [line[0] for line in result.difference if "id: tell" in line]
    assert marked == ["+", "-"]
    lines = [line.lstrip() for line in PAGE.splitlines() if "{id: tell, is: succeeded}" in line]
    shown = [line for line in lines if line[:2] in {"+ ", "- "}]
    assert [line[0] for line in shown] == marked
