"""A case fails on what it should: order, a step more or less, values, undo, messages; and says where."""

from collections.abc import Callable

from tests.unit.controlplane.rehearsal.conftest import PLAYBOOK

Differ = Callable[..., list[str]]
LOOK = "    - {id: look, uses: query.wait, with: {query: up, condition: result > 0}}\n"
LONGER = PLAYBOOK.replace("  verify:", LOOK + "  verify:")
SHORTER = "\n".join(line for line in PLAYBOOK.splitlines() if "id: tell" not in line)
WELL = "{state: succeeded, steps: [{id: tell}, {id: shift}]}"


def test_what_comes_as_expected_has_no_difference(differ: Differ) -> None:
    expect = """
    state: succeeded
    why: "proved"
    steps:
      - {id: tell, is: succeeded, outputs: {to: oncall}}
      - {id: shift, attempts: 1, with: {weight: 0}, outputs: {before: 100.0}}
    undo:
      - {step: shift, target: chat/local/zone-a, is: kept}
      - {step: tell, target: chat/local, field: notification, is: kept}
    escalations: []
    notified: [oncall]
    journal: [run.queued, effect, run.succeeded]
    guards: {mode: allow, throttle: allow}
    fleet: {weights: {zone-a: 0}, writes: 1, ready: 12, restarted: [], held: [chat/local/zone-a]}
    """
    assert differ(expect) == []


def test_a_wrong_order_is_a_difference(differ: Differ) -> None:
    lines = differ("{state: succeeded, steps: [{id: shift}, {id: tell}]}")
    assert lines == ["+ - {id: tell, is: succeeded}", "- - {id: tell, is: succeeded}"]


def test_a_step_that_the_playbook_gained_is_a_difference(differ: Differ) -> None:
    queries = [{"contains": "up", "values": [1]}]
    assert differ(WELL, LONGER, queries=queries) == ["+ - {id: look, is: succeeded}"]


def test_a_step_that_the_playbook_lost_is_a_difference(differ: Differ) -> None:
    assert differ(WELL, SHORTER) == ["- - {id: tell, is: succeeded}"]


def test_a_step_that_never_began_must_be_named_too(differ: Differ) -> None:
    expect = "{state: failed, steps: [{id: tell, is: failed}]}"
    steps = {"tell": {"failed": "permanent", "message": "no such channel"}}
    assert differ(expect, steps=steps) == ["+ - {id: shift, is: cancelled}"]


def test_values_states_and_reasons_are_compared(differ: Differ) -> None:
    expect = """
    state: failed
    why: it was not
    steps: [{id: tell}, {id: shift, attempts: 2, with: {weight: 5}, outputs: {before: 50, after: 1}}]
    """
    came = "attempts: 1, with: {weight: 0}, outputs: {before: 100, after: (none)}}"
    assert [line for line in differ(expect) if not line.startswith("+ why")] == [
        "- why: it was not",
        "- state: failed",
        "+ state: succeeded",
        "- - {id: shift, is: succeeded, attempts: 2, with: {weight: 5}, outputs: {before: 50, after: 1}}",
        f"+ - {{id: shift, is: succeeded, {came}",
    ]


def test_undo_escalations_journal_and_fleet_are_compared(differ: Differ) -> None:
    expect = """
    state: failed
    steps: [{id: tell}, {id: shift}]
    undo: [{step: shift, target: chat/local/zone-a, is: withheld}]
    escalations: [boss, oncall]
    journal: [run.failed, effect]
    fleet: {weights: {zone-a: 0}, writes: 1, held: [chat/local/zone-a]}
    """
    lines = differ(expect, signals={"trigger": "bad", "clients": "bad"})
    assert "- - {step: shift, target: chat/local/zone-a, field: weight, is: withheld}" in lines
    assert "+ - {step: shift, target: chat/local/zone-a, field: weight, is: undone}" in lines
    assert sorted(line for line in lines if "oncall" in line) == ["+ - oncall", "- - oncall"]
    assert "- - effect" in lines
    assert "+ - run.undoing" in lines
    assert [line for line in lines if "weights" in line] == [
        "- fleet.weights: {zone-a: 0}",
        "+ fleet.weights: {zone-a: 100}",
    ]
    assert "+ fleet.held: []" in lines


def test_no_run_is_a_difference_and_a_run_is_one(differ: Differ) -> None:
    assert differ("{decision: refused}")[:2] == ["- decision: refused", "+ decision: run"]
    halted = differ(WELL, halts=["works"])
    assert {"- decision: run", "+ decision: refused", "+ state: (none)", "+ steps: []"} <= {*halted}


def test_a_guard_that_says_otherwise_is_a_difference(differ: Differ) -> None:
    expect = "{decision: refused, guards: {halt: allow, throttle: refuse, nothing: wait}}"
    assert differ(expect, halts=["works"]) == [
        "- guards.halt: allow",
        "- guards.throttle: refuse",
        "- guards.nothing: wait",
        "+ guards.halt: refuse",
        "+ guards.throttle: allow",
        "+ guards.nothing: (none)",
    ]
