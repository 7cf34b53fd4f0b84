"""What clients of the service use: plain HTTP and the OpenAI client, streamed through Envoy."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest
from openai import OpenAI

from tests.support.fleet_up import FleetUp

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
TOKENS = 24


def test_curl_gets_a_streamed_answer(fleet: FleetUp) -> None:
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("curl is not installed")
    body = {
        "model": MODEL, "messages": [{"role": "user", "content": "Tell me about ports."}],
        "max_tokens": TOKENS, "ignore_eos": True, "stream": True,
    }  # fmt: skip
    argv = [
        curl, "--silent", "--show-error", "--fail", "--no-buffer", "--include", "--max-time", "60",
        "--header", "Content-Type: application/json", "--data", json.dumps(body),
        f"{fleet.address('gateway')}/v1/chat/completions",
    ]  # fmt: skip
    answer = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    head, _, events = answer.replace("\r\n", "\n").partition("\n\n")
    headers = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:])
    assert headers["content-type"].startswith("text/event-stream")
    assert headers["x-fleetward-zone"] in {"zone-a", "zone-b", "zone-c"}
    data = [line.removeprefix("data: ") for line in events.splitlines() if line]
    assert data[-1] == "[DONE]"
    chunks = [json.loads(line) for line in data[:-1]]
    texts = [choice["delta"].get("content") for chunk in chunks for choice in chunk["choices"]]
    assert len([text for text in texts if text]) == TOKENS
    assert chunks[-1]["choices"][0]["finish_reason"] == "length"


def test_the_openai_client_gets_a_streamed_answer(fleet: FleetUp) -> None:
    with OpenAI(base_url=f"{fleet.address('gateway')}/v1", api_key="none", timeout=60) as client:
        assert [model.id for model in client.models.list()] == [MODEL]
        stream = client.chat.completions.create(
            model=MODEL,
            messages=[{"role": "user", "content": "Tell me about ships."}],
            max_tokens=TOKENS,
            extra_body={"ignore_eos": True},
            stream=True,
            stream_options={"include_usage": True},
        )
        chunks = list(stream)
    pieces = [choice.delta.content for chunk in chunks for choice in chunk.choices if choice.delta.content]
    assert len(pieces) == TOKENS
    usage = chunks[-1].usage
    assert usage is not None
    assert usage.completion_tokens == TOKENS
