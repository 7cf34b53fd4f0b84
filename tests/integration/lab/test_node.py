"""One real node process: clients, scrapes, faults, restarts, kills."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from chaos.lab import answers
from tests.support.ports import free_ports

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
LOAD = 0.4  # seconds a replica loads in these tests
PROMPT = "Tell me of the sea."


class NodeProcess:
    """A node started from a file, and how to speak with it."""

    def __init__(self, folder: Path) -> None:
        self.ports = free_ports(3)
        self.socket = folder / "node.sock"
        self.config = folder / "node.json"
        self._log = folder / "node.log"
        document = {
            "service": "chat",
            "cluster": "local",
            "zone": "zone-a",
            "node": "node-a1",
            "model": MODEL,
            "seed": 7,
            "replicas": [
                {"name": f"replica-a1-{index}", "port": self.ports[index], "gpuUuid": f"GPU-{index}"}
                for index in range(2)
            ],
            "dcgmPort": self.ports[2],
            "socket": str(self.socket),
            "engine": {"loadTime": LOAD},
        }
        self.config.write_text(json.dumps(document))
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "chaos.lab.node", "--config", str(self.config)], stderr=log
            )

    def url(self, index: int = 0) -> str:
        return f"http://127.0.0.1:{self.ports[index]}"

    def control(self, method: str, path: str, **options: Any) -> httpx.Response:
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(self.socket)), timeout=5) as client:
            return client.request(method, f"http://node{path}", **options)

    def status(self) -> dict[str, Any]:
        document: dict[str, Any] = self.control("GET", "/status").json()
        return document

    def replica(self, index: int = 0) -> dict[str, Any]:
        replica: dict[str, Any] = self.status()["replicas"][index]
        return replica

    def put_fault(self, identifier: str, kind: str, seconds: float, **fields: Any) -> httpx.Response:
        end = datetime.now(UTC) + timedelta(seconds=seconds)
        body = {"kind": kind, "replicas": None, "expiresAt": end.isoformat(), **fields}
        return self.control("PUT", f"/faults/{identifier}", json=body)

    def metric(self, name: str, index: int = 0) -> float:
        text = httpx.get(f"{self.url(index)}/metrics").text
        labels = "" if "{" in name else r"(?:{[^}]*})?"
        found = re.search(rf"^{re.escape(name)}{labels} (\S+)$", text, re.MULTILINE)
        assert found is not None, name
        return float(found[1])

    def wait_ready(self) -> None:
        until(lambda: self.process.poll() is None and self._listens())
        until(lambda: all(replica["state"] == "ready" for replica in self.status()["replicas"]))

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.connect(str(self.socket))
        return True

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(5)

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(5)


def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Wait for a condition; a node that is not there yet does not meet it."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
        except (httpx.TransportError, OSError):
            pass
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds} s: {condition}")
        time.sleep(0.02)


def chat(url: str, tokens: int = 5, prompt: str = PROMPT) -> str:
    body = {"model": MODEL, "messages": [{"role": "user", "content": prompt}], "max_tokens": tokens}
    reply = httpx.post(f"{url}/v1/chat/completions", json=body, timeout=20).raise_for_status().json()
    content: str = reply["choices"][0]["message"]["content"]
    return content


@contextmanager
def open_stream(url: str, tokens: int) -> Iterator[httpx.Response]:
    """A streamed completion of exactly ``tokens`` tokens; its connection is closed at the end."""
    body = {"model": MODEL, "prompt": PROMPT, "max_tokens": tokens, "stream": True, "ignore_eos": True}
    with (
        httpx.Client(timeout=20) as client,
        client.stream("POST", f"{url}/v1/completions", json=body) as response,
    ):
        yield response


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    process = NodeProcess(tmp_path)
    try:
        process.wait_ready()
        yield process
    finally:
        if process.process.poll() is None:
            process.kill()


def test_the_openai_client_streams_and_waits_and_is_told_what_is_wrong(node: NodeProcess) -> None:
    with openai.OpenAI(base_url=f"{node.url()}/v1", api_key="none", max_retries=0) as client:
        messages: Any = [{"role": "user", "content": "What is 17+25?"}]
        chunks = list(
            client.chat.completions.create(
                model=MODEL,
                messages=messages,
                max_tokens=6,
                stream=True,
                stream_options={"include_usage": True},
            )
        )
        text = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
        assert text == answers.answer_text("What is 17+25?", 6)
        assert text.split()[0] == "42"
        assert chunks[-2].choices[0].finish_reason == "length"
        assert chunks[-1].usage is not None
        assert (chunks[-1].usage.prompt_tokens, chunks[-1].usage.completion_tokens) == (3, 6)
        whole = client.chat.completions.create(model=MODEL, messages=messages, max_completion_tokens=6)
        assert whole.choices[0].message.content == text
        assert (
            client.completions.create(model=MODEL, prompt="What is 17+25?", max_tokens=6).choices[0].text
            == text
        )
        assert [model.id for model in client.models.list()] == [MODEL]
        with pytest.raises(openai.BadRequestError, match="n=2 is not supported"):
            client.chat.completions.create(model=MODEL, messages=messages, n=2)
        with pytest.raises(openai.NotFoundError, match="does not exist"):
            client.chat.completions.create(model="other", messages=messages)


def test_a_stream_opens_before_its_first_token_and_says_who_answers(node: NodeProcess) -> None:
    node.put_fault("f", "hang", 30)
    with open_stream(node.url(), 5) as response:
        headers = response.headers
        assert (response.status_code, headers["x-fleetward-replica"]) == (200, "replica-a1-0")
        assert headers["x-fleetward-replica-uid"] == node.replica()["uid"]
        assert (headers["x-fleetward-node"], headers["x-fleetward-zone"]) == ("node-a1", "zone-a")
        assert node.metric("vllm:generation_tokens_total") == 0
        node.control("DELETE", "/faults/f")
        assert response.read().endswith(b"data: [DONE]\n\n")


def test_plain_endpoints_answer_as_vllm(node: NodeProcess) -> None:
    assert httpx.get(f"{node.url()}/health").status_code == 200
    assert httpx.get(f"{node.url()}/version").json() == {"version": "0.20.0"}
    assert httpx.get(f"{node.url()}/load").json() == {"server_load": 0}
    assert httpx.post(f"{node.url()}/nope").status_code == 404
    metrics = httpx.get(f"{node.url()}/metrics")
    assert metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    counted = re.findall(r"^http_requests_total(\{.*\}) (\S+)$", metrics.text, re.MULTILINE)
    assert counted == [('{handler="none",method="POST",status="4xx"}', "1.0")]
    assert 'pod="replica-a1-1"' in httpx.get(f"{node.url(2)}/metrics").text


def test_a_client_that_goes_away_frees_its_slot(node: NodeProcess) -> None:
    aborted = f'vllm:request_success_total{{engine="0",finished_reason="abort",model_name="{MODEL}"}}'
    with open_stream(node.url(), 2000) as response:
        chunks = response.iter_raw()
        next(chunks)
        assert node.replica()["running"] == 1
    until(lambda: node.replica()["running"] == 0)
    assert node.metric(aborted) == 1
    assert chat(node.url()) == answers.answer_text(PROMPT, 5)


def test_a_slow_fault_slows_every_token_and_ends_by_itself(node: NodeProcess) -> None:
    def per_token() -> float:
        started = time.monotonic()
        chat(node.url(), 10)
        return (time.monotonic() - started) / 10

    healthy = per_token()
    assert node.put_fault("f", "slow", 4, factor=6.0).status_code == 200
    assert per_token() > 3 * healthy
    assert [fault["id"] for fault in node.status()["faults"]] == ["f"]
    until(lambda: not node.status()["faults"])
    assert per_token() < 3 * healthy


def test_a_hang_answers_health_queues_requests_freezes_metrics_and_loses_nothing(node: NodeProcess) -> None:
    chat(node.url())
    assert node.put_fault("f", "hang", 2.0, replicas=["replica-a1-0"]).status_code == 200
    replies: list[str] = []
    waiting = threading.Thread(target=lambda: replies.append(chat(node.url(), 8)))
    waiting.start()
    until(lambda: node.replica()["waiting"] == 1)
    assert httpx.get(f"{node.url()}/health").status_code == 200
    assert node.metric("vllm:num_requests_waiting") == 0
    assert node.metric("vllm:generation_tokens_total") == 5
    assert chat(node.url(1)) == answers.answer_text(PROMPT, 5)
    assert replies == []
    waiting.join(10)
    assert replies == [answers.answer_text(PROMPT, 8)]


def test_a_restart_drops_connections_resets_counters_and_cures_a_hang(node: NodeProcess) -> None:
    chat(node.url())
    before, started = node.replica(), node.metric("process_start_time_seconds")
    node.put_fault("stuck", "hang", 30)
    node.put_fault("late", "slow", 30, factor=2.0)
    with open_stream(node.url(), 50) as response:
        answer = node.control("POST", "/replicas/replica-a1-0/restart", json={"reason": "test"})
        with pytest.raises(httpx.TransportError):
            response.read()
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{node.url()}/health")
    assert node.replica()["uid"] == answer.json()["uid"]
    until(lambda: node.replica()["state"] == "ready")
    after = node.replica()
    assert (after["uid"] != before["uid"], after["tokens"]) == (True, 0)
    assert node.metric("process_start_time_seconds") > started
    assert chat(node.url()) == answers.answer_text(PROMPT, 5)
    targets = {fault["id"]: fault["target"] for fault in node.status()["faults"]}
    assert targets == {"stuck": ["replica-a1-1"], "late": ["replica-a1-0", "replica-a1-1"]}


def test_the_socket_is_private_and_refuses_what_it_does_not_know(node: NodeProcess) -> None:
    assert stat.S_IMODE(node.socket.stat().st_mode) == 0o600
    assert node.put_fault("f", "melt", 5).status_code == 422
    assert node.put_fault("f", "slow", 5).status_code == 422
    assert node.put_fault("f", "hang", -5).status_code == 422
    assert node.put_fault("f", "hang", 5, replicas=["replica-z9-9"]).status_code == 422
    assert node.control("POST", "/replicas/replica-z9-9/restart").status_code == 404
    assert node.control("DELETE", "/faults/none").status_code == 204
    assert node.status()["faults"] == []


def test_a_killed_node_comes_back_from_the_same_file_without_its_faults(node: NodeProcess) -> None:
    node.put_fault("f", "hang", 60)
    uid = node.replica()["uid"]
    with open_stream(node.url(), 50):
        node.kill()
    assert node.socket.exists()
    node.start()
    node.wait_ready()
    assert node.status()["faults"] == []
    assert node.replica()["uid"] != uid
    assert chat(node.url()) == answers.answer_text(PROMPT, 5)


def test_a_signal_ends_the_node_quickly_also_with_open_streams(node: NodeProcess) -> None:
    with open_stream(node.url(), 5000):
        started = time.monotonic()
        assert node.stop() == 0
        assert time.monotonic() - started < 2
    assert node.socket.exists() is False


def test_a_stopped_node_goes_on_where_it_was(node: NodeProcess) -> None:
    with open_stream(node.url(), 30) as response:
        os.kill(node.process.pid, signal.SIGSTOP)
        time.sleep(0.5)
        os.kill(node.process.pid, signal.SIGCONT)
        started = time.monotonic()
        assert response.read().count(b'"text":') == 30
    assert time.monotonic() - started > 0.4


def test_a_second_node_on_the_same_addresses_leaves_the_first_alone(node: NodeProcess) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "chaos.lab.node", "--config", str(node.config)],
        check=False,
        capture_output=True,
        timeout=20,
    )
    assert second.returncode == 1
    assert b"cannot serve" in second.stderr
    assert node.replica()["state"] == "ready"


def test_a_bad_file_is_refused_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "node.json"
    path.write_text("{}")
    ended = subprocess.run(
        [sys.executable, "-m", "chaos.lab.node", "--config", str(path)],
        check=False,
        capture_output=True,
        timeout=20,
    )
    assert ended.returncode == 2
    assert b"gpu" in ended.stderr or b"replicas" in ended.stderr
