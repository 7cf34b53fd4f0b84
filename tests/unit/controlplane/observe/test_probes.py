"""Known questions: overdue is bad at once, slow is bad when repeated, silence is unknown."""

from __future__ import annotations

from controlplane.kernel.clock import from_unix
from controlplane.model.service import ServiceSpec
from controlplane.model.signals import CanaryState
from controlplane.model.target import Target
from controlplane.observe.canary import Question
from controlplane.observe.probes import Answer, Kind, ProbeBook

SPEC = ServiceSpec.model_validate({"model": "m", "zones": [{"name": "zone-a"}]})
NODE = Target("chat", "local", "zone-a", "node-a1")
FIRST, SECOND = (Target("chat", "local", "zone-a", "node-a1", f"replica-a1-{n}") for n in (0, 1))


def book(**answers: list[Kind]) -> ProbeBook:
    """Return a book in which each replica was asked every 2 s from 100 on, and answered so."""
    made = ProbeBook(SPEC)
    for target, kinds in zip((FIRST, SECOND), answers.values(), strict=False):
        for number, kind in enumerate(kinds):
            started = 100.0 + 2 * number
            made.asked(target, started)
            made.answered(target, Answer(started, started + 0.3, kind, 0.1, 0.02, 8))
    return made


def state(made: ProbeBook, target: Target, at: float, replicas: list[Target] | None = None) -> CanaryState:
    return made.states(replicas or [FIRST, SECOND], from_unix(at))[str(target)]


def test_right_answers_are_good_since_the_first_of_them() -> None:
    made = book(one=["right"] * 5)
    assert made.replica(FIRST, 109.3).good is True
    assert made.replica(FIRST, 109.3).good_for == 9.0


def test_never_asked_is_unknown() -> None:
    assert book().replica(FIRST, 100.0).good is None


def test_one_slow_answer_is_evidence_and_two_are_a_verdict() -> None:
    once, twice = book(one=["right", "slow"]), book(one=["right", "slow", "slow"])
    assert (once.replica(FIRST, 103.0).good, once.replica(FIRST, 103.0).failing) == (True, True)
    assert twice.replica(FIRST, 105.0).good is False


def test_a_wrong_answer_a_refusal_and_an_error_are_bad_at_once() -> None:
    for kind in ("wrong", "refused", "error", "timeout"):
        assert book(one=["right", kind]).replica(FIRST, 103.0).good is False


def test_good_starts_anew_after_bad() -> None:
    made = book(one=["right", "refused", "right", "right"])
    assert made.replica(FIRST, 107.3).good_for == 3.0


def test_a_probe_without_a_first_token_fails_from_the_moment_it_is_overdue() -> None:
    made = book(one=["right"])
    made.asked(FIRST, 102.0)
    assert made.replica(FIRST, 102.9).good is True
    late = made.replica(FIRST, 103.1)
    assert (late.good, late.overdue, late.waiting_since) == (False, True, 102.0)


def test_an_answer_that_has_begun_may_take_until_the_time_out() -> None:
    made = book(one=["right"])
    made.asked(FIRST, 102.0)
    made.first_token(FIRST, 102.2)
    assert made.replica(FIRST, 103.9).good is True
    assert made.replica(FIRST, 104.1).overdue is True


def test_what_nobody_asks_any_more_becomes_unknown() -> None:
    made = book(one=["right"])
    assert made.replica(FIRST, 109.0).good is None
    made.asked(FIRST, 109.0)
    made.abandoned(FIRST)
    assert made.replica(FIRST, 120.0).good is None


def test_a_wider_target_is_good_when_all_its_replicas_are() -> None:
    made = book(one=["right", "right"], two=["right", "refused"])
    found = state(made, NODE, 103.0)
    assert found.good is False
    assert found.replicas == {"replica-a1-0": True, "replica-a1-1": False}
    assert found.detail.startswith("1 of 2 good: replica-a1-1: refused")


def test_a_wider_target_with_a_replica_that_was_never_asked_is_unknown() -> None:
    assert state(book(one=["right"]), NODE.at("zone"), 101.0).good is None


def test_latency_beyond_the_objectives_is_slow() -> None:
    made = ProbeBook(SPEC)
    assert made.judge(0.2, 0.066, right=True) == "slow"
    assert made.judge(1.2, 0.022, right=True) == "slow"
    assert made.judge(0.2, 0.022, right=True) == "right"
    assert made.judge(0.2, 0.022, right=False) == "wrong"


def test_questions_differ_and_their_answers_are_checked() -> None:
    first, second = Question.number(0), Question.number(1)
    assert (first.text, first.answer) == ("What is 17+25? Answer with the number only.", 42)
    assert second.answer != first.answer
    assert first.is_right("42 ba co")
    assert first.is_right("The answer is 42.")
    assert not first.is_right("43")
    assert not first.is_right("")


def test_one_out_of_rotation_speaks_for_itself_and_neither_for_nor_against_its_zone() -> None:
    made = book(one=["right"] * 5, two=["slow"] * 5)
    states = made.states([FIRST, SECOND], from_unix(109.3), [SECOND])
    assert states[str(SECOND)].good is False
    assert (states[str(NODE)].good, states[str(NODE)].good_for) == (True, 9.0)
    assert states[str(NODE)].detail == "1 of 1 good, 1 of 2 out of rotation"


def test_a_zone_of_which_less_than_half_is_in_rotation_is_not_known_to_be_good() -> None:
    made = book(one=["right"] * 5, two=["right"] * 5)
    states = made.states([FIRST, SECOND], from_unix(109.3), [FIRST, SECOND])
    assert {text: state.good for text, state in states.items()} == {
        **{str(wide): None for wide in (NODE, NODE.at("zone"), NODE.at("service"))},
        str(FIRST): True,
        str(SECOND): True,
    }
    assert states[str(NODE)].good_for == 0.0
