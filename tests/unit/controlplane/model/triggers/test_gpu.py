"""GPU triggers: by class, by code, by rung; warnings only where they are asked for."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from controlplane.model.target import Signal
from controlplane.model.triggers.base import Facts
from controlplane.model.triggers.gpu import GpuTrigger
from tests.unit.controlplane.decide.fleet import at
from tests.unit.controlplane.decide.verdicts import incident

NODE = at("a/a1")


def trigger(**spec: Any) -> GpuTrigger:
    return GpuTrigger.model_validate({"type": "gpu", **spec})


@pytest.mark.parametrize(
    ("spec", "name", "answers"),
    [
        ({}, "xid-79", True),
        ({}, "row-remap-failure", True),
        ({}, "xid-63", False),
        ({"classes": ["warning"]}, "xid-63", True),
        ({"xids": [63]}, "xid-63", True),
        ({"classes": ["app", "gpu"]}, "xid-31", True),
        ({"classes": ["app", "gpu"]}, "xid-79", False),
        ({"xids": [31, 79]}, "xid-79", True),
        ({"xids": [31, 79]}, "row-remap-failure", False),
    ],
)
def test_it_answers_the_errors_that_it_names(spec: dict[str, Any], name: str, answers: bool) -> None:
    assert trigger(**spec).answers(Signal("gpu", name, NODE)) is answers
    assert trigger(**spec).answers(Signal("slo", name, NODE)) is False


def test_a_rung_is_where_the_ladder_stands_now() -> None:
    found = incident(NODE, name="xid-48", kind="gpu", tier="replace-node")
    assert trigger(rungs=["replace-node", "support"]).matches(found, Facts({}, {})) is True
    assert trigger(rungs=["reset-gpu"]).matches(found, Facts({}, {})) is False


def test_what_is_no_code_is_refused() -> None:
    with pytest.raises(ValidationError, match="from 1"):
        trigger(xids=[0])
    with pytest.raises(ValidationError, match="classes"):
        trigger(classes=["memory"])
