"""A look ahead is used for the step that it was made for, on the values that it was made on."""

from controlplane.act.engine import Ahead

SCOPE = {"steps": {"first": {"outputs": {"value": 1}}}, "now": 1}


def test_a_look_ahead_is_used_when_only_time_has_passed() -> None:
    assert Ahead("last", SCOPE, "found").of("last", {**SCOPE, "now": 2}) == "found"


def test_a_look_ahead_for_another_step_or_on_other_values_is_not_used() -> None:
    ahead = Ahead("last", SCOPE, "found")
    assert ahead.of("other", SCOPE) is None
    assert ahead.of("last", {**SCOPE, "steps": {"first": {"outputs": {"value": 2}}}}) is None
