"""Reading a stream of completion chunks: whole, cut, failed and garbled ones."""

import json

from hypothesis import given
from hypothesis import strategies as st

from chaos.lab.traffic.client import read_events


def event(**choice: object) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": choice}]}).encode() + b"\n\n"


ROLE = event(role="assistant", content="")
USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5}}\n\n'
DONE = b"data: [DONE]\n\n"


def test_a_whole_stream_gives_its_text_and_the_engines_count() -> None:
    answer = read_events(ROLE + event(content="ba") + event(content=" co di") + USAGE + DONE)

    assert answer == ("ba co di", 5, True, None)


def test_without_usage_chunks_with_content_are_counted() -> None:
    answer = read_events(ROLE + event(content="ba") + event(content=" co") + DONE)

    assert answer == ("ba co", 2, True, None)


def test_a_stream_cut_before_its_end_is_not_complete() -> None:
    answer = read_events(ROLE + event(content="ba") + b'data: {"choi')

    assert (answer.text, answer.tokens, answer.complete) == ("ba", 1, False)


def test_an_error_inside_the_stream_is_told() -> None:
    answer = read_events(event(content="ba") + b'data: {"error":{"message":"engine died"}}\n\n' + DONE)

    assert not answer.complete
    assert "engine died" in str(answer.error)


@given(st.binary(max_size=400))
def test_whatever_comes_is_read_without_raising(noise: bytes) -> None:
    answer = read_events(b"data: " + noise + b"\n\n" + noise)

    assert answer.tokens >= 0
