"""The kind Drill: faults or an exercise, and what each must say beforehand."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from controlplane.model.drill import DrillSpec

FAULTS = [{"name": "gray", "kind": "zone.gray", "duration": "45s"}]
EXERCISE = {"playbook": "scheduled-restart", "within": "3m"}
RECOVERY = {"within": "30s"}


def spec(**more: Any) -> DrillSpec:
    probe = {"name": "served", "type": "effectiveShare", "atLeast": "95%"}
    base = {"purpose": "p", "service": "chat", "environment": "lab"}
    return DrillSpec.model_validate({**base, "hypothesis": {"title": "t", "probes": [probe]}, **more})


def test_an_exercise_needs_no_recovery_of_its_own_and_clients_must_not_notice() -> None:
    found = spec(exercise=EXERCISE)
    assert (found.faults, found.exercise is not None, found.recovery.within) == ((), True, 15.0)
    assert spec(exercise=EXERCISE, recovery={"within": "20s"}).recovery.within == 20.0


@pytest.mark.parametrize("given", [{}, {"faults": FAULTS, "exercise": EXERCISE, "recovery": RECOVERY}])
def test_a_drill_breaks_something_or_runs_something(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="write either `faults` or `exercise`"):
        spec(**given)


def test_whoever_breaks_something_says_what_must_come_of_it() -> None:
    with pytest.raises(ValidationError, match="`recovery` is missing"):
        spec(faults=FAULTS)


def test_what_must_fire_has_a_name() -> None:
    with pytest.raises(ValidationError, match="name it in `playbook`"):
        spec(faults=FAULTS, recovery={**RECOVERY, "required": True})
    assert spec(faults=FAULTS, recovery={**RECOVERY, "required": True, "playbook": "tell"}).recovery.required


def test_an_exercise_has_a_bound() -> None:
    with pytest.raises(ValidationError, match="within"):
        spec(exercise={"playbook": "scheduled-restart"})
