"""Every error of the kernel's tree becomes the right kind of failure; back-off is bounded and repeatable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.act.outcomes import backoff_seconds, outcome_of
from controlplane.kernel import errors
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.playbook import Backoff

KINDS = {
    errors.Unavailable: FailureKind.TRANSIENT,
    errors.VersionConflict: FailureKind.TRANSIENT,
    errors.Ambiguous: FailureKind.AMBIGUOUS,
    errors.InvalidInput: FailureKind.PERMANENT,
    errors.NotFound: FailureKind.PERMANENT,
    errors.NotAllowed: FailureKind.PERMANENT,
    errors.Refused: FailureKind.PERMANENT,
    errors.Conflict: FailureKind.PERMANENT,
    ZeroDivisionError: FailureKind.PERMANENT,
}


def raised(error: Exception) -> Outcome:
    def call() -> Outcome:
        raise error

    return outcome_of(call, "test")


@pytest.mark.parametrize(("error", "kind"), KINDS.items(), ids=lambda value: getattr(value, "__name__", None))
def test_an_error_is_a_failure_of_its_kind(error: type[Exception], kind: FailureKind) -> None:
    outcome = raised(error("because"))
    assert isinstance(outcome, Failed)
    assert outcome.kind == kind
    assert "because" in outcome.message


def test_fenced_passes_through() -> None:
    with pytest.raises(errors.Fenced):
        raised(errors.Fenced("somebody else has it"))


def test_every_error_of_the_tree_is_decided() -> None:
    known = {errors.Fenced, errors.InvalidDocuments, errors.FleetwardError, *KINDS}
    tree = {thing for thing in vars(errors).values() if isinstance(thing, type)}
    assert {each for each in tree if issubclass(each, errors.FleetwardError)} <= known


def test_outputs_become_plain_json() -> None:
    assert outcome_of(lambda: Done({"a": (1, 2)}), "test") == Done({"a": [1, 2]})
    assert outcome_of(lambda: Again(1.0, {"a": {1}}), "test") == Again(1.0, {"a": [1]})


def test_what_is_no_outcome_fails() -> None:
    outcome = outcome_of(lambda: None, "test")  # type: ignore[arg-type, return-value]
    assert isinstance(outcome, Failed)


@given(st.integers(1, 30), st.floats(0, 1), st.floats(1, 5))
def test_back_off_stays_within_its_bounds_and_is_always_the_same(
    attempt: int, jitter: float, factor: float
) -> None:
    backoff = Backoff.model_construct(duration=2.0, factor=factor, max_duration=30.0, jitter=jitter)
    seconds = backoff_seconds(backoff, "run-1", "step", attempt)
    base = min(2.0 * factor ** (attempt - 1), 30.0)
    assert base * (1 - jitter) - 1e-9 <= seconds <= base * (1 + jitter) + 1e-9
    assert seconds == backoff_seconds(backoff, "run-1", "step", attempt)
