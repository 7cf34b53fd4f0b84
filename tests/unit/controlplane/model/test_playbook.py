"""The kind Playbook: what of a graph, a loop, a ladder or a budget is refused by its shape."""

from typing import Any

import pytest

from controlplane.act.plan import RunPlan
from controlplane.model.documents import load_bundle
from controlplane.model.graph import dependencies, ranks
from controlplane.model.playbook import Approval, Escalation, ForEach, Playbook, PlaybookSpec, Retry, Step


def steps(**needs: list[str] | None) -> tuple[Step, ...]:
    """Steps by id, each with its needs."""
    return tuple(Step(id=id_, uses="x", needs=None if of is None else tuple(of)) for id_, of in needs.items())


def test_without_needs_a_step_follows_the_one_before_it() -> None:
    found = dependencies(steps(a=None, b=None, c=["a"], d=None, e=[]))
    assert found == {"a": (), "b": ("a",), "c": ("a",), "d": ("c",), "e": ()}


def test_a_step_ranks_above_all_that_it_needs() -> None:
    assert ranks(steps(a=["c"], b=[], c=["d"], d=[])) == {"b": 0, "d": 1, "c": 2, "a": 3}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": None, "b": ["c"]}, "step `b` needs `c`, which is no step"),
        ({"shift": None, "b": ["shfit"]}, "did you mean `shift`?"),
        ({"a": ["a"]}, "step `a` needs itself"),
        ({"a": ["c"], "b": ["a"], "c": ["b"]}, "steps wait for each other"),
        ({"a": ["b"], "b": None}, "steps wait for each other"),
    ],
)
def test_an_order_that_cannot_be_kept_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="step") as caught:
        PlaybookSpec(steps=steps(**given))
    assert message in str(caught.value)


def test_two_steps_of_one_id_are_refused() -> None:
    with pytest.raises(ValueError, match="two steps are called `a`"):
        PlaybookSpec(steps=(*steps(a=None), *steps(a=None)))


@pytest.mark.parametrize("name", ["incident", "service", "steps", "outputs", "now"])
def test_an_item_that_would_hide_another_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"`{name}` would hide"):
        ForEach.model_validate({"items": "service.zones", "as": name})


def test_an_output_that_expressions_could_not_name_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be called `items`"):
        Step(id="a", uses="x", outputs={"items": "1"})


@pytest.mark.parametrize("given", [{}, {"playbook": "a", "notify": "b"}, {"notify": "b", "inputs": {"x": 1}}])
def test_a_rung_of_a_ladder_is_one_thing(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="playbook"):
        Escalation.model_validate(given)


def test_what_may_have_happened_is_never_on_the_list_of_what_is_retried() -> None:
    with pytest.raises(ValueError, match="never tried again blindly"):
        Retry.model_validate({"on": ["transient", "ambiguous"]})


FULL = """\
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: all-of-it}
spec:
  approval: {when: limits.healthyAfter < 0.6, roles: [approver], timeout: 5m, onTimeout: deny}
  steps:
    - {id: look, name: Look first, uses: x, outputs: {spare: outputs.ratio - 1}}
    - id: scale
      uses: x
      needs: [look]
      forEach: {items: service.zones, as: zone, concurrency: 2, onItemFailure: continue}
      with: {zone: "{{ zone }}"}
      retry: {limit: 2, on: [transient, permanent]}
  onFailure: {escalate: [{playbook: shed-load, inputs: {tier: free}}, {notify: oncall}]}
  budget: {maxRuns: 5, window: 7d, then: refuse}
"""


def test_everything_that_a_step_may_say_is_read_and_written_out_again() -> None:
    bundle = load_bundle([("all.yaml", FULL)]).raise_problems()
    playbook = bundle.of("Playbook")["all-of-it"]
    assert Playbook.model_validate(playbook.model_dump(mode="json", by_alias=True)) == playbook


def test_a_run_executes_all_that_its_playbook_says() -> None:
    playbook = load_bundle([("all.yaml", FULL)]).of("Playbook")["all-of-it"]
    assert isinstance(playbook, Playbook)
    plan, spec = RunPlan.of_playbook(playbook), playbook.spec
    assert (plan.steps, plan.verify, plan.on_failure) == (spec.steps, spec.verify, spec.on_failure)
    assert (plan.limits, plan.approval) == (spec.limits, spec.approval)
    assert plan.asking().approval == Approval()
