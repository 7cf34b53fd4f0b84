"""The kind PlaybookTest: mistakes are found with their place, and a case overrides its file."""

import pytest
from pydantic import ValidationError

from controlplane.actions import register
from controlplane.actions.validate import check_bundle
from controlplane.kernel.registry import Registry
from controlplane.model.action import ActionRegistry
from controlplane.model.documents import load_bundle
from controlplane.model.rehearsal import Expectation, Given, PlaybookTest, Script

BAD = """\
apiVersion: fleetward.dev/v1
kind: PlaybookTest
metadata: {name: t}
spec:
  playbook: moove
  steps: {shifft: {done: {}}}
  cases:
    - name: one
      event: {target: chat/local/zone-a, signal: "slo:x", inputs: {a: 1}}
      expect: {decision: refused}
    - name: two
      event: {target: chat/local/zone-a}
      signals: {trigger: curd}
      steps: {shift: {done: {}, failed: transient}}
      expect: {state: succeeded}
    - name: three
      event: {target: chat/local/zone-a}
      expect: {decision: refused, state: failed}
      untill: 5s
"""
PLAYBOOK = """\
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: move}
spec:
  steps: [{id: shift, uses: traffic.shift, with: {zone: zone-a, weight: 0}}]
"""
ONE = "{name: one, event: {target: a}, expect: {decision: refused}}"


def messages(*files: tuple[str, str]) -> dict[tuple[int, int], str]:
    actions: ActionRegistry = Registry("action")
    register(actions)
    found = check_bundle(load_bundle(files), actions).problems
    return {(each.line, each.column): f"{each.message} {each.suggestion or ''}".strip() for each in found}


def test_every_mistake_is_reported_with_its_place() -> None:
    found = messages(("t.yaml", BAD), ("p.yaml", PLAYBOOK))
    assert found == {
        (5, 13): "there is no Playbook `moove` did you mean `move`?",
        (9, 14): "`inputs` are for a start by hand: leave `signal` out",
        (13, 26): "Input should be 'good', 'bad', 'unknown' or 'cured'",
        (14, 22): "write one of `done`, `again`, `failed`, `real: true`",
        (15, 15): "write `state` and `steps`, the run's end and all of its steps; or a `decision` not to run",
        (18, 15): "without a run there is no `state`: decision is refused",
        (19, 7): "unknown key `untill` did you mean `until`?",
    }


def test_a_script_for_a_step_that_is_not_there_is_a_mistake() -> None:
    text = "".join(BAD.splitlines(keepends=True)[:7]).replace("moove", "move") + f"    - {ONE}\n"
    found = messages(("t.yaml", text), ("p.yaml", PLAYBOOK))
    assert found == {(6, 11): "move has no step `shifft` did you mean `shift`?"}
    assert messages(("t.yaml", text)) == {}


def test_two_cases_of_one_name_are_a_mistake() -> None:
    text = "".join(BAD.splitlines(keepends=True)[:5]) + f"  cases: [{ONE}, {ONE}]\n"
    assert list(messages(("t.yaml", text)).values()) == ["two cases are called `one`"]


def test_a_case_overrides_its_file_field_by_field() -> None:
    wide = Given.model_validate({"signals": {"trigger": "bad"}, "halts": ["a"], "until": "1m"})
    case = Given.model_validate({"halts": [], "until": "2m"})
    found = case.over(wide)
    assert (found.signals, found.halts, found.until) == (wide.signals, (), 120.0)


def test_single_values_stand_for_lists_of_one() -> None:
    given = Given.model_validate({"signals": {"trigger": "bad"}, "steps": {"a": {"failed": "permanent"}}})
    (turn,) = given.signals["trigger"]
    assert (turn.after, turn.is_) == (0.0, "bad")
    assert given.steps["a"] == (Script.model_validate({"failed": "permanent"}),)


def test_a_run_needs_its_end_and_its_steps() -> None:
    with pytest.raises(ValidationError, match="write `state` and `steps`"):
        Expectation.model_validate({})


def test_it_has_a_schema() -> None:
    schema = PlaybookTest.model_json_schema(by_alias=True)
    case = schema["$defs"]["Case"]["properties"]
    assert {"event", "expect", "fleet", "steps", "platformFails"} <= case.keys()


def test_an_answer_is_one_word_of_a_role_about_a_step_that_is_there() -> None:
    head = "".join(BAD.splitlines(keepends=True)[:5]).replace("moove", "move")
    answers = "[{step: shifft, approve: approver}, {approve: admin, nobody: true}, {reject: boss}]"
    found = messages(("t.yaml", f"{head}  answers: {answers}\n  cases: [{ONE}]\n"), ("p.yaml", PLAYBOOK))
    assert sorted(found.values()) == [
        "Input should be 'viewer', 'operator', 'approver' or 'admin'",
        "move has no step `shifft` did you mean `shift`?",
        "write one of `approve: ROLE`, `reject: ROLE`, `nobody: true`",
    ]
