"""Answers are a function of prompt and length, so that whoever knows the prompt can check them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.lab import answers


@given(st.text(), st.integers(0, 60), st.integers(0, 60))
def test_a_shorter_answer_is_the_beginning_of_a_longer_one(prompt: str, short: int, more: int) -> None:
    assert answers.answer_tokens(prompt, short + more)[:short] == answers.answer_tokens(prompt, short)


@given(st.text(), st.integers(1, 60))
def test_an_answer_splits_into_as_many_words_as_it_has_tokens(prompt: str, count: int) -> None:
    assert len(answers.prompt_tokens(answers.answer_text(prompt, count))) == count


@given(st.integers(0, 10**15 - 1), st.integers(0, 10**15 - 1), st.sampled_from(["+", " + ", "+ "]))
def test_the_first_token_of_a_sum_is_the_sum(left: int, right: int, plus: str) -> None:
    prompt = f"Answer with a number only: {left}{plus}{right}."
    assert answers.answer_tokens(prompt, 5)[0] == str(left + right)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("17+25", "42"),
        ("1+2+3", "6"),
        ("First 1+1, then 17+25?", "42"),
        ("C++ and a+b", None),
        ("1.5+2", None),
        ("1+2.5", None),
        ("9" * 5000 + "+1", None),
        ("no numbers", None),
    ],
)
def test_an_addition_is_recognised_only_where_one_stands(prompt: str, expected: str | None) -> None:
    assert answers.known_answer(prompt) == expected


def test_answers_do_not_change_between_versions() -> None:
    assert answers.answer_text("Tell me of tides.", 4) == "vale fuzu fuly pare"


def test_different_prompts_get_different_answers() -> None:
    texts = {answers.answer_text(f"prompt {number}", 20) for number in range(200)}
    assert len(texts) == 200


def test_natural_lengths_average_a_hundred_tokens() -> None:
    lengths = [answers.natural_length(f"prompt {number}") for number in range(2000)]
    assert (min(lengths) >= 20, max(lengths) <= 180) == (True, True)
    assert sum(lengths) / len(lengths) == pytest.approx(100, abs=4)


def test_the_prompt_of_a_single_message_is_its_text() -> None:
    assert answers.chat_prompt(["What is 17+25?"]) == "What is 17+25?"


def test_a_later_turn_begins_with_the_earlier_conversation() -> None:
    first = answers.chat_prompt(["q1"])
    assert answers.chat_prompt(["q1", "a1", "q2"]).startswith(first)
