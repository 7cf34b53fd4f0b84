"""Prompts to an engine: sent as the OpenAI API has it; no answer may be tried again, a refusal not."""

import json

import httpx
import pytest

from controlplane.kernel.errors import Refused, Unavailable
from controlplane.observe.prompts import HttpEngines


def ask(answer: httpx.Response | Exception) -> httpx.Request:
    seen: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    engines = HttpEngines(httpx.MockTransport(respond))
    engines.complete("http://127.0.0.1:9", model="m", prompt="hello", max_tokens=1)
    return seen[0]


def test_a_prompt_is_a_completion_of_the_services_model() -> None:
    request = ask(httpx.Response(200, json={}))

    assert str(request.url) == "http://127.0.0.1:9/v1/completions"
    assert json.loads(request.content) == {
        "model": "m",
        "prompt": "hello",
        "max_tokens": 1,
        "temperature": 0,
    }


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (httpx.Response(400, text="too long"), Refused),
        (httpx.Response(404), Refused),
        (httpx.Response(429), Unavailable),
        (httpx.Response(503), Unavailable),
        (httpx.ConnectError("refused"), Unavailable),
        (httpx.ReadTimeout("silent"), Unavailable),
    ],
)
def test_what_may_mend_is_unavailable_and_what_may_not_is_refused(
    answer: httpx.Response | Exception, expected: type[Exception]
) -> None:
    with pytest.raises(expected):
        ask(answer)
