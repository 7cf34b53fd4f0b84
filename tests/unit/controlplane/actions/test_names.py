"""Names in expressions are judged where they stand: fields, inputs, and the steps that came before."""

from datetime import UTC, datetime
from typing import Any

import pytest

from controlplane.act.scope import incident_scope, run_scope
from controlplane.actions import register
from controlplane.actions.validate import check_bundle
from controlplane.decide.guards import limits_of
from controlplane.kernel.registry import Registry
from controlplane.kernel.templating import evaluate
from controlplane.model.action import ActionRegistry
from controlplane.model.documents import load_bundle
from controlplane.model.service import Service
from controlplane.model.vocabulary import INCIDENT, LIMITS, NAMES, RUN, STEP, shape_of

TEXT = """\
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: a}
spec:
  when: %(when)s
  inputs: {ramp: {type: duration, default: 2s}}
  steps:
    - {id: look, uses: capacity.check, with: {without: a, atLeast: 1, perReplica: 5}, outputs: {spare: %(outputs)s}}
    - {id: other, uses: traffic.shift, needs: [], with: {zone: a, weight: 0}}
    - {id: loop, uses: traffic.shift, needs: [look], forEach: {items: service.zones, as: zone}, with: {zone: "{{ zone }}", weight: 0}}
    - {id: act, uses: traffic.shift, needs: [loop], if: "%(condition)s", with: {zone: "{{ %(with)s }}", weight: 0}}
  verify: [{query: 'x{zone="{{ %(query)s }}"}', successCondition: %(result)s < 1}]
"""  # noqa: E501
GOOD = {
    "when": "incident.zone in service.zones",
    "outputs": "outputs.ratio - 1",
    "condition": "steps.look.outputs.ratio < 1 and steps.look.outputs.spare < 1",
    "with": "incident.zone",
    "query": "steps.other.outputs.weight",
    "result": "result",
}


def found(**changes: str) -> list[tuple[str, str | None]]:
    actions: ActionRegistry = Registry("action")
    register(actions)
    bundle = check_bundle(load_bundle([("f.yaml", TEXT % {**GOOD, **changes})]), actions)
    return [(problem.message.partition("`: ")[2], problem.suggestion) for problem in bundle.problems]


def test_good_names_have_no_findings() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("place", "source", "message", "suggestion"),
    [
        ("when", "incidnt.zone == 1", "unknown name `incidnt`", "did you mean `incident`?"),
        ("when", "incident.zoen == 1", "unknown name `incident.zoen`", "did you mean `zone`?"),
        ("when", "service.zonse == 1", "unknown name `service.zonse`", "did you mean `zones`?"),
        ("when", "service.spec.engin == 1", "unknown name `service.spec.engin`", "did you mean `engine`?"),
        ("when", "inputs.rmap == '2s'", "unknown name `inputs.rmap`", "did you mean `ramp`?"),
        (
            "when",
            "limits.healthyaftr < 1",
            "unknown name `limits.healthyaftr`",
            "did you mean `healthyAfter`?",
        ),
        ("when", "run.id == 1", "unknown name `run`", "valid: incident, inputs, limits, now, service"),
        ("condition", "run.nme == 1", "unknown name `run.nme`", "did you mean `name`?"),
        ("condition", "steps.lok.state == 1", "unknown name `steps.lok`", "did you mean `look`?"),
        ("condition", "steps['lok'].state == 1", "unknown name `steps.lok`", "did you mean `look`?"),
        (
            "condition",
            "steps.look.output == 1",
            "unknown name `steps.look.output`",
            "did you mean `outputs`?",
        ),
        (
            "condition",
            "steps.look.outputs.ratoi == 1",
            "unknown name `steps.look.outputs.ratoi`",
            "did you mean `ratio`?",
        ),
        (
            "condition",
            "steps.loop.outputs.eahc == 1",
            "unknown name `steps.loop.outputs.eahc`",
            "did you mean `each`?",
        ),
        (
            "condition",
            "steps.other.state == 1",
            "step `other` need not be over when `act` starts: name it in `needs`",
            None,
        ),
        (
            "with",
            "steps.act.state",
            "a step cannot read its own results: in `outputs` they are called `outputs`",
            None,
        ),
        ("outputs", "outputs.ration", "unknown name `outputs.ration`", "did you mean `ratio`?"),
        (
            "query",
            "steps.other.outputs.wieght",
            "unknown name `steps.other.outputs.wieght`",
            "did you mean `weight`?",
        ),
        ("result", "reslt", "unknown name `reslt`", "did you mean `result`?"),
    ],
)
def test_an_unknown_name_is_found_where_it_stands(
    place: str, source: str, message: str, suggestion: str | None
) -> None:
    assert found(**{place: source}) == [(message, suggestion)]


def test_a_field_is_known_by_its_name_in_yaml_and_in_code_and_really_there() -> None:
    service = Service.model_validate(
        {"kind": "Service", "metadata": {"name": "chat"}, "spec": {"model": "m", "zones": [{"name": "a"}]}}
    )
    for text in ("service.spec.metricLabels.zone", "service.spec.metric_labels.zone"):
        assert evaluate(text, {"service": service}) == "zone"
    for name in shape_of(Service):
        evaluate(f"service.{name} is defined", {"service": service})


def test_the_vocabulary_is_what_a_run_really_has() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    run: Any = type(
        "Run", (), {"scope": {}, "inputs": {}, "id": "r", "name": "n", "kind": "playbook", "target": None}
    )
    state: Any = type("State", (), {"value": "succeeded"})
    step: Any = type("Step", (), {"id": "s", "outputs": {}, "state": state, "item_index": None})
    service: Any = None
    scope = run_scope(run, service, [step], now)
    assert set(scope) == set(NAMES)
    assert set(scope["run"]) == set(RUN)
    assert set(scope["steps"]["s"]) == set(STEP)
    assert set(limits_of([])) == set(LIMITS)
    assert list(incident_scope("chat/local/a") or {}) == list(INCIDENT)[:11]
