"""Documents that are well-formed each, and wrong together: every check finds its case and nothing else."""

import json
from typing import Any

import pytest
from ruamel.yaml import YAML

from controlplane.actions import register
from controlplane.actions.semantics import CHECKS
from controlplane.actions.validate import check_bundle
from controlplane.kernel.errors import Problem
from controlplane.kernel.registry import Registry
from controlplane.model.action import ActionRegistry
from controlplane.model.documents import Bundle, load_bundle
from tests.meta.tree import ROOT

SHIFT = "{id: shift, uses: traffic.shift, with: {zone: '{{ incident.zone }}', weight: 0}}"
RESTORE = "{id: back, uses: traffic.restore, with: {zone: '{{ incident.zone }}'}}"
SLO_TRIGGER = "triggers: [{type: slo, slo: s, tiers: [fast], by: zone}]"
POLICY = ("Policy", "policy", "channels: [{name: oncall, url: 'https://example.com'}]")
SERVICE = ("Service", "chat", "{model: m, zones: [{name: zone-a}, {name: zone-b}]}")


def slo(more: str) -> tuple[str, str, str]:
    return ("SLO", "s", f"{{service: chat, indicator: ttft, threshold: 1s{more}}}")


def playbook(name: str, steps: str, *more: str) -> tuple[str, str, str]:
    return ("Playbook", name, "\n".join([f"steps: [{steps}]", *more]))


def check(*documents: tuple[str, str, str]) -> Bundle:
    actions: ActionRegistry = Registry("action")
    register(actions)
    texts = []
    for kind, name, spec in documents:
        inside = "\n".join(f"  {line}" for line in spec.splitlines())
        head = f"apiVersion: fleetward.dev/v1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n"
        texts.append((f"{name}.yaml", head + inside + "\n"))
    return check_bundle(load_bundle(texts), actions)


def found(*documents: tuple[str, str, str]) -> list[tuple[str, str, str]]:
    bundle = check(*documents)
    assert all(problem.severity == "error" for problem in bundle.problems)
    assert all(problem.severity == "warning" for problem in bundle.warnings)
    return [(each.code, each.file, each.path) for each in [*bundle.problems, *bundle.warnings]]


CASES: dict[str, list[tuple[list[tuple[str, str, str]], str, str]]] = {
    "undo-impossible": [
        (
            [
                playbook(
                    "a",
                    "{id: x, uses: capacity.check, undo: true, with: {without: z, perReplica: 5}}",
                )
            ],
            "a.yaml",
            "spec.steps[0].undo",
        )
    ],
    "unknown-zone": [
        (
            [SERVICE, playbook("a", "{id: x, uses: traffic.shift, with: {zone: zone-c, weight: 0}}")],
            "a.yaml",
            "spec.steps[0].with.zone",
        )
    ],
    "unknown-channel": [
        (
            [POLICY, playbook("a", SHIFT, "onFailure: {escalate: [{notify: onlcal}]}")],
            "a.yaml",
            "spec.onFailure.escalate[0].notify",
        ),
        (
            [POLICY, playbook("a", "{id: x, uses: notify.send, with: {channel: onlcal, title: t}}")],
            "a.yaml",
            "spec.steps[0].with.channel",
        ),
    ],
    "unreachable-tier": [
        (
            [SERVICE, slo(", target: 99%"), playbook("a", SHIFT, SLO_TRIGGER)],
            "a.yaml",
            "spec.triggers[0].tiers",
        ),
        (
            [
                SERVICE,
                slo(", target: 90%"),
                playbook("a", SHIFT, "triggers: [{type: slo, slo: s, tiers: [page], by: zone}]"),
            ],
            "a.yaml",
            "spec.triggers[0].tiers",
        ),
    ],
    "escalation-cycle": [
        (
            [playbook("a", SHIFT, "onFailure: {escalate: [{playbook: a}]}")],
            "a.yaml",
            "spec.onFailure.escalate[0].playbook",
        )
    ],
    "triggers-itself": [
        (
            [playbook("a", SHIFT, "triggers: [{type: incident, state: mitigated, by: zone}]")],
            "a.yaml",
            "spec.steps[0].uses",
        )
    ],
    "conflicting-playbooks": [
        (
            [playbook("a", SHIFT, SLO_TRIGGER), playbook("b", RESTORE, SLO_TRIGGER.replace("fast", "page"))],
            "b.yaml",
            "spec.triggers[0]",
        )
    ],
    "unused-input": [
        (
            [playbook("a", SHIFT, "inputs: {ramp: {type: duration, default: 2s}}")],
            "a.yaml",
            "spec.inputs.ramp",
        )
    ],
}


@pytest.mark.parametrize(
    ("code", "documents", "file", "path"),
    [(code, *case) for code, cases in CASES.items() for case in cases],
)
def test_each_check_finds_its_case_and_nothing_else(
    code: str, documents: list[tuple[str, str, str]], file: str, path: str
) -> None:
    assert found(*documents) == [(code, file, path)]


def test_every_check_has_a_case() -> None:
    assert set(CASES) == set(CHECKS)


def test_a_circle_over_several_playbooks_is_told_at_each_of_its_rungs() -> None:
    ladder = "onFailure: {escalate: [{playbook: %s}]}"
    bundle = check(*(playbook(one, SHIFT, ladder % two) for one, two in (("a", "b"), ("b", "c"), ("c", "a"))))
    assert [problem.message for problem in bundle.problems] == [
        "playbooks escalate in a circle: a → b → c → a",
        "playbooks escalate in a circle: b → c → a → b",
        "playbooks escalate in a circle: c → a → b → c",
    ]


GOOD = [
    [playbook("a", "{id: x, uses: traffic.shift, undo: true, with: {zone: z, weight: 0}}")],
    [SERVICE, playbook("a", SHIFT)],
    [playbook("a", SHIFT, "onFailure: {escalate: [{notify: anyone}]}")],
    [POLICY, playbook("a", SHIFT, "onFailure: {escalate: [{notify: oncall}]}")],
    [SERVICE, slo(", target: 99%, fast: {below: 90%}"), playbook("a", SHIFT, SLO_TRIGGER)],
    [playbook("a", SHIFT, "onFailure: {escalate: [{playbook: b}]}"), playbook("b", SHIFT)],
    [playbook("a", RESTORE, "triggers: [{type: incident, state: mitigated, by: zone}]")],
    [playbook("a", SHIFT, "triggers: [{type: incident, state: firing, by: zone}]")],
    [
        playbook("a", SHIFT, SLO_TRIGGER),
        playbook("b", RESTORE, "triggers: [{type: incident, state: mitigated}]"),
    ],
    [playbook("a", SHIFT), playbook("b", RESTORE)],
    [
        playbook("a", SHIFT, SLO_TRIGGER, "concurrency: {group: g}"),
        playbook("b", RESTORE, SLO_TRIGGER, "concurrency: {group: g}"),
    ],
    [playbook("a", SHIFT, "inputs: {n: {default: x}}", "when: inputs.n == 'x'")],
    [playbook("a", SHIFT, "inputs: {n: {default: x}}", "when: inputs[incident.zone] == 'x'")],
]


@pytest.mark.parametrize("documents", GOOD)
def test_what_is_meant_raises_no_alarm(documents: list[Any]) -> None:
    assert found(*documents) == []


def test_what_is_shipped_raises_no_alarm() -> None:
    files = [
        (str(file), file.read_text("utf-8"))
        for folder in ("playbooks", "chaos/catalog", "chaos/lab/fleet")
        for file in sorted((ROOT / folder).glob("*.yaml"))
    ]
    actions: ActionRegistry = Registry("action")
    register(actions)
    bundle = check_bundle(load_bundle(files), actions)
    assert [*bundle.problems, *bundle.warnings] == []


@pytest.mark.parametrize("key", ["steps", "triggers", "onFailure", "inputs", "concurrency"])
@pytest.mark.parametrize("value", [3, "x", [3], {"a": 3}, None, [{"with": 3, "uses": "traffic.shift"}]])
def test_a_wrong_shape_breaks_no_check(key: str, value: object) -> None:
    yaml = YAML(typ="safe", pure=True)
    spec: dict[str, Any] = yaml.load(f"steps: [{SHIFT}]")
    document = {"apiVersion": "fleetward.dev/v1", "kind": "Playbook", "metadata": {"name": "a"}, "spec": spec}
    spec[key] = value
    actions: ActionRegistry = Registry("action")
    register(actions)
    check_bundle(load_bundle([("a.yaml", json.dumps(document))]), actions)


def test_a_warning_says_that_it_is_one() -> None:
    problem = Problem("a.yaml", 1, 2, "spec", "odd", "do so", code="unused-input", severity="warning")
    assert str(problem) == "a.yaml:1:2: spec: warning: odd; do so [unused-input]"
