"""Targets and signals: one text form, and containment that counts nothing twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.errors import InvalidInput
from controlplane.model.target import Signal, Target, minimal

part = st.sampled_from(["a", "b", "c"])
targets = st.integers(min_value=0, max_value=3).flatmap(
    lambda depth: st.tuples(*[part] * depth).map(lambda parts: Target("chat", "local", *parts))
)


@given(targets)
def test_the_text_form_reads_back(target: Target) -> None:
    assert Target.parse(str(target)) == target
    signal = Signal("slo", "chat-ttft", target)
    assert Signal.parse(str(signal)) == signal


@given(targets, targets)
def test_containment_is_the_prefix_of_the_path(one: Target, other: Target) -> None:
    assert one.contains(other) == (str(other) + "/").startswith(str(one) + "/")


@given(st.sets(targets, max_size=8))
def test_minimal_keeps_what_nothing_else_contains(some: set[Target]) -> None:
    kept = minimal(some)
    assert all(any(wide.contains(target) for wide in kept) for target in some)
    assert not any(one != other and one.contains(other) for one in kept for other in kept)


@given(targets)
def test_parents_lead_to_the_service(target: Target) -> None:
    seen = [target]
    while (parent := seen[-1].parent()) is not None:
        assert parent.contains(target)
        seen.append(parent)
    assert seen[-1].level == "service"
    assert target.at("service") == seen[-1]


@pytest.mark.parametrize("text", ["", "a//b", "a/b/c/d/e/f/g", "/"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        Target.parse(text)
