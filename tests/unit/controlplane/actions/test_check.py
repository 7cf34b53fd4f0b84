"""A step's parameters are checked before anything runs, as far as they are known."""

import pytest

from controlplane.actions import register
from controlplane.actions.check import validate_parameters
from controlplane.kernel.registry import Registry
from controlplane.model.action import ActionRegistry

NAMES = {"incident", "inputs", "steps"}


@pytest.fixture
def actions() -> ActionRegistry:
    registry: ActionRegistry = Registry("action")
    register(registry)
    return registry


def test_good_parameters_have_no_findings(actions: ActionRegistry) -> None:
    assert (
        validate_parameters(actions.get("traffic.shift"), {"zone": "a", "weight": 0, "over": "5s"}, NAMES)
        == []
    )


def test_templates_are_taken_for_any_parameter(actions: ActionRegistry) -> None:
    with_ = {"zone": "{{ incident.zone }}", "weight": "{{ inputs.weight }}", "over": "{{ inputs.ramp }}"}

    assert validate_parameters(actions.get("traffic.shift"), with_, NAMES) == []


def test_a_template_with_an_unknown_name_is_found_where_it_stands(actions: ActionRegistry) -> None:
    with_ = {"zone": "{{ incidnt.zone }}", "weight": 0}

    assert validate_parameters(actions.get("traffic.shift"), with_, NAMES) == [
        (
            ("zone",),
            "`{{ incidnt.zone }}`: unknown name `incidnt`",
            "did you mean `incident`?",
        )
    ]


def test_a_template_that_does_not_parse_is_found(actions: ActionRegistry) -> None:
    ((path, message, _),) = validate_parameters(
        actions.get("traffic.shift"), {"zone": "{{ incident. }}", "weight": 0}, NAMES
    )

    assert path == ("zone",)
    assert "not a valid expression" in message


def test_an_unknown_parameter_is_answered_with_the_nearest(actions: ActionRegistry) -> None:
    with_ = {"zone": "a", "wieght": 0, "weight": 0}

    assert validate_parameters(actions.get("traffic.shift"), with_, NAMES) == [
        (("wieght",), "unknown parameter `wieght`", "did you mean `weight`?")
    ]


def test_a_missing_parameter_is_found_with_what_it_means(actions: ActionRegistry) -> None:
    assert validate_parameters(actions.get("traffic.shift"), {"weight": 0}, NAMES) == [
        ((), "`zone` is missing", "the zone whose weight is changed")
    ]


def test_a_missing_parameter_is_found_beside_templates(actions: ActionRegistry) -> None:
    findings = validate_parameters(actions.get("traffic.shift"), {"zone": "{{ incident.zone }}"}, NAMES)

    assert [message for _, message, _ in findings] == ["`weight` is missing"]


def test_every_mistake_is_reported_not_the_first(actions: ActionRegistry) -> None:
    with_ = {"zoen": "{{ foo }}", "weight": 200, "over": 5}

    findings = validate_parameters(actions.get("traffic.shift"), with_, NAMES)

    assert sorted(path for path, _, _ in findings) == [(), ("over",), ("weight",), ("zoen",), ("zoen",)]


def test_a_wrong_duration_says_what_is_valid(actions: ActionRegistry) -> None:
    ((path, message, hint),) = validate_parameters(
        actions.get("traffic.shift"), {"zone": "a", "weight": 0, "over": "5 secs"}, NAMES
    )

    assert path == ("over",)
    assert message == "'5 secs' is not a duration"
    assert hint is not None
    assert "30s" in hint


def test_a_mistake_inside_a_list_is_found_at_its_item(actions: ActionRegistry) -> None:
    findings = validate_parameters(
        actions.get("traffic.restore"), {"zone": "a", "stages": [5, "many", 100]}, NAMES
    )

    assert [path for path, _, _ in findings] == [("stages", 1)]


def test_a_template_inside_a_list_excuses_what_depends_on_it(actions: ActionRegistry) -> None:
    with_ = {"zone": "a", "stages": ["{{ inputs.first }}", 100]}

    assert validate_parameters(actions.get("traffic.restore"), with_, NAMES) == []


def test_a_rule_over_several_parameters_is_checked(actions: ActionRegistry) -> None:
    findings = validate_parameters(actions.get("notify.send"), {"title": "t"}, NAMES)

    assert findings == [((), "write either `channel` or `url`", None)]


def test_camel_case_is_what_yaml_writes(actions: ActionRegistry) -> None:
    with_ = {"without": "a", "perReplica": 4, "atLest": 1.1}

    assert validate_parameters(actions.get("capacity.check"), with_, NAMES) == [
        (("atLest",), "unknown parameter `atLest`", "did you mean `atLeast`?")
    ]


def test_snake_case_is_not(actions: ActionRegistry) -> None:
    with_ = {"without": "a", "perReplica": 4, "at_least": 1.1}

    findings = validate_parameters(actions.get("capacity.check"), with_, NAMES)

    assert findings == [(("at_least",), "unknown parameter `at_least`", "did you mean `atLeast`?")]
