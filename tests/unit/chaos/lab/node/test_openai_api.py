"""Requests are read as vLLM reads them, and refused in OpenAI's form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chaos.lab import answers
from chaos.lab.engine.request import FinishReason
from chaos.lab.node.openai_api import ApiError, Call, parse, response

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
QUESTION = "What is 17+25?"


def chat(**fields: Any) -> Call:
    document = {"model": MODEL, "messages": [{"role": "user", "content": QUESTION}], **fields}
    return parse(json.dumps(document).encode(), chat=True, model=MODEL, max_model_len=16384)


def complete(**fields: Any) -> Call:
    document = {"model": MODEL, "prompt": QUESTION, **fields}
    return parse(json.dumps(document).encode(), chat=False, model=MODEL, max_model_len=16384)


def refusal(call: Any, **fields: Any) -> tuple[int, dict[str, Any]]:
    with pytest.raises(ApiError) as caught:
        call(**fields)
    body: dict[str, Any] = caught.value.body["error"]
    return caught.value.status, body


def test_the_answer_is_the_one_that_anyone_can_compute() -> None:
    call = chat(max_tokens=7)
    assert list(call.tokens) == answers.answer_tokens(QUESTION, 7)
    assert (call.ending, call.max_tokens, len(call.prompt)) == (FinishReason.LENGTH, 7, 3)


def test_without_a_limit_an_answer_has_its_natural_length() -> None:
    call = complete()
    assert (len(call.tokens), call.ending) == (answers.natural_length(QUESTION), FinishReason.STOP)


def test_a_limit_beyond_the_natural_length_ends_with_stop_unless_eos_is_ignored() -> None:
    natural = answers.natural_length(QUESTION)
    early, full = chat(max_tokens=natural + 50), chat(max_tokens=natural + 50, ignore_eos=True)
    assert (len(early.tokens), early.ending) == (natural, FinishReason.STOP)
    assert (len(full.tokens), full.ending) == (natural + 50, FinishReason.LENGTH)


def test_the_newer_name_of_the_limit_wins() -> None:
    assert len(chat(max_tokens=9, max_completion_tokens=4).tokens) == 4


def test_content_parts_and_earlier_turns_are_part_of_the_prompt() -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}]},
        {"role": "assistant", "content": None},
    ]
    assert list(chat(messages=messages).prompt) == ["Be", "brief.", "one", "two"]


def test_a_stop_string_is_computed_but_not_shown() -> None:
    tokens = answers.answer_tokens(QUESTION, 20)
    stop = tokens[3].strip() + tokens[4][:2]
    call = chat(max_tokens=20, stop=[stop, "never"])
    assert (len(call.tokens), call.ending) == (5, FinishReason.STOP)
    assert "".join(call.pieces) == "".join(tokens[:3]) + " "


@given(st.text("abcdefiklmnoprstuvwyz 0123456789", min_size=1, max_size=6))
def test_what_is_shown_ends_exactly_before_the_first_stop_string(stop: str) -> None:
    whole = answers.answer_text(QUESTION, 40)
    call = chat(max_tokens=40, ignore_eos=True, stop=stop)
    assert "".join(call.pieces) == whole.split(stop)[0]
    assert len(call.pieces) == len(call.tokens)
    assert (call.ending is FinishReason.STOP) == (stop in whole)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 2}, "n"),
        ({"n": 0}, "n"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"temperature": -1}, "temperature"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": "  "}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages.0.content.str"),
        ({"logprobs": True}, "logprobs"),
        ({"tools": [{"type": "function"}]}, "tools"),
    ],
)
def test_what_is_wrong_or_not_built_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    status, body = refusal(chat, **fields)
    assert (status, body["type"], body["code"], body["param"]) == (400, "BadRequestError", 400, param)


def test_another_model_is_not_found() -> None:
    status, body = refusal(chat, model="gpt-5")
    assert (status, body["message"]) == (404, "The model `gpt-5` does not exist.")
    assert (body["type"], body["param"]) == ("NotFoundError", "model")


def test_a_request_longer_than_the_model_is_refused_with_the_numbers() -> None:
    status, body = refusal(complete, prompt="word " * 16000, max_tokens=500)
    assert status == 400
    assert "maximum context length is 16384 tokens" in body["message"]
    assert "16500 tokens (16000 in the messages, 500 in the completion)" in body["message"]


def test_only_one_prompt_is_taken() -> None:
    assert list(complete(prompt=["a b"]).prompt) == ["a", "b"]
    assert refusal(complete, prompt=["a", "b"])[1]["param"] == "prompt"


@example(b"[" * 100_000)
@given(st.binary(max_size=40))
def test_any_other_bytes_are_a_bad_request(raw: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        parse(raw, chat=True, model=MODEL, max_model_len=100)
    assert caught.value.status == 400


def test_a_whole_answer_has_the_shape_of_openai() -> None:
    document = json.loads(response(chat(max_tokens=2), "id-1", 12, MODEL))
    choice = document["choices"][0]
    assert (document["object"], choice["finish_reason"]) == ("chat.completion", "length")
    assert choice["message"] == {"role": "assistant", "content": answers.answer_text(QUESTION, 2)}
    assert document["usage"]["total_tokens"] == 5
    assert json.loads(response(complete(max_tokens=2), "id-1", 12, MODEL))["object"] == "text_completion"
