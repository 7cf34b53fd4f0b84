"""Faults in the embedded fleet: its process table for kills, its nodes' sockets for the rest.

Works with nothing but the state directory: no API, no database, no supervisor. Each node has a
unix socket of mode 0600 that the control plane never reads.
"""

from __future__ import annotations

import json
import re
import signal
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
from pydantic import ValidationError

from chaos.drivers import watchdog
from chaos.drivers.port import (
    ALL_CAPABILITIES,
    CALL_TIMEOUT,
    Answer,
    Capability,
    Incarnation,
    NodeFault,
    NodeStatus,
    Surge,
    SurgeStatus,
)
from chaos.lab.layout import Layout
from chaos.lab.node.config import NodeConfig
from chaos.lab.processes import START_TIME_TOLERANCE, ProcessRecord, ProcessTable
from controlplane.kernel.clock import Clock, SystemClock
from controlplane.kernel.errors import InvalidInput, NotFound, Unavailable
from controlplane.model.target import Target

_QUESTION = "Count slowly."
_FIELD = re.compile(r"^DCGM_FI_|\{.*$")


class LabDriver:
    """Implements `chaos.drivers.port.Driver` for the lab under one state directory."""

    capabilities: frozenset[Capability] = ALL_CAPABILITIES

    def __init__(self, state_dir: Path, clock: Clock | None = None) -> None:
        self._state_dir = state_dir
        self._clock = clock or SystemClock()
        self._table = ProcessTable(state_dir, self._clock)

    # ── reading ─────────────────────────────────────────────────────────────────────────────────

    def targets(self) -> list[Target]:
        found: dict[Target, None] = {}
        for node in self._layout().nodes:
            here = Target(node.service, node.cluster, node.zone, node.node)
            found[here.at("service")] = None
            found[here.at("zone")] = None
            found[here] = None
            found.update((replace(here, replica=replica.name), None) for replica in node.replicas)
        return sorted(found, key=str)

    def incarnation(self, node: str) -> Incarnation | None:
        record = self._record(node)
        if not self._table.is_alive(record):
            return None
        return Incarnation(pid=record.pid, start_time=record.start_time)

    def status(self, node: str) -> NodeStatus:
        response = self._call(node, "GET", "/status")
        try:
            return NodeStatus.model_validate(response.json())
        except (ValueError, ValidationError) as error:
            raise Unavailable(f"{node} says something unreadable of itself: {error}") from error

    def is_live(self, target: Target) -> bool:
        try:
            url = f"{self._address(target)}/health"
            return httpx.get(url, timeout=CALL_TIMEOUT, trust_env=False).status_code == 200
        except httpx.HTTPError:
            return False

    def gpu_fields(self, target: Target) -> dict[str, float]:
        node = self._node(target.node or "")
        uuid = next((one.gpu_uuid for one in node.replicas if one.name == target.replica), "")
        url = f"http://127.0.0.1:{node.dcgm_port}/metrics"
        try:
            text = httpx.get(url, timeout=CALL_TIMEOUT, trust_env=False).raise_for_status().text
        except httpx.HTTPError as error:
            raise Unavailable(f"the GPU exporter of {node.node} does not answer: {error}") from error
        lines = [line for line in text.splitlines() if f'UUID="{uuid}"' in line]
        return {_FIELD.sub("", line): float(line.rsplit(" ", 1)[1]) for line in lines}

    def ask(self, targets: Sequence[Target], *, tokens: int, timeout: float) -> list[Answer]:
        addresses = [self._address(target) for target in targets]
        model = self._layout().settings.model
        with ThreadPoolExecutor(max_workers=max(1, len(addresses))) as pool:
            futures = [pool.submit(self._ask, address, model, tokens, timeout) for address in addresses]
            return [future.result() for future in futures]

    def is_observed(self) -> bool:
        layout = self._layout()
        try:
            url = f"{layout.url(layout.prometheus_port)}/-/ready"
            return httpx.get(url, timeout=CALL_TIMEOUT, trust_env=False).status_code == 200
        except httpx.HTTPError:
            return False

    def surge(self, fault_id: str) -> SurgeStatus | None:
        try:
            listed = [
                SurgeStatus.model_validate(one) for one in self._users("GET", "/status").json()["faults"]
            ]
        except (ValueError, LookupError, TypeError) as error:
            raise Unavailable(f"the traffic says something unreadable of itself: {error}") from error
        return next((one for one in listed if one.id == fault_id), None)

    # ── breaking and mending ────────────────────────────────────────────────────────────────────

    def kill(self, node: str, incarnation: Incarnation) -> bool:
        return self._signal(node, incarnation, signal.SIGKILL)

    def pause(self, node: str, incarnation: Incarnation, until: datetime) -> bool:
        # The watch comes first: who dies between the two leaves nothing stopped for good.
        watchdog.watch(self._state_dir, self._record(node), until)
        return self._signal(node, incarnation, signal.SIGSTOP)

    def resume(self, node: str, incarnation: Incarnation) -> bool:
        return self._signal(node, incarnation, signal.SIGCONT)

    def is_paused(self, node: str) -> bool:
        return self._table.is_stopped(self._record(node))

    def respawn(self, node: str) -> None:
        self._table.respawn(self._record(node).name)

    def put_fault(self, node: str, fault_id: str, fault: NodeFault) -> None:
        body = fault.model_dump(mode="json", by_alias=True, exclude_none=True)
        self._call(node, "PUT", f"/faults/{fault_id}", body)

    def delete_fault(self, node: str, fault_id: str) -> None:
        self._call(node, "DELETE", f"/faults/{fault_id}")

    def put_surge(self, fault_id: str, surge: Surge) -> None:
        self._users("PUT", f"/faults/{fault_id}", surge.model_dump(mode="json", by_alias=True))

    def delete_surge(self, fault_id: str) -> None:
        self._users("DELETE", f"/faults/{fault_id}")

    def _signal(self, node: str, incarnation: Incarnation, number: signal.Signals) -> bool:
        record = self._record(node)
        same = record.pid == incarnation.pid
        if not same or abs(record.start_time - incarnation.start_time) > START_TIME_TOLERANCE:
            return False
        return self._table.signal(record.name, number)

    # ── how ─────────────────────────────────────────────────────────────────────────────────────

    def _layout(self) -> Layout:
        return Layout.load(self._state_dir)

    def _node(self, node: str) -> NodeConfig:
        nodes = self._layout().nodes
        found = next((one for one in nodes if one.node == node), None)
        if found is None:
            raise NotFound(f"no node `{node}`", hint=f"nodes: {', '.join(one.node for one in nodes)}")
        return found

    def _record(self, node: str) -> ProcessRecord:
        known = [one for one in self._table.records() if one.kind in {"node", "prometheus"}]
        found = next((one for one in known if one.name == node), None)
        if found is None:
            raise NotFound(f"no process of `{node}` in {self._state_dir}/processes.json")
        return found

    def _address(self, target: Target) -> str:
        replicas = self._node(target.node or "").replicas
        port = next((one.port for one in replicas if one.name == target.replica), None)
        if port is None:
            raise NotFound(f"{target} is not a replica of this lab")
        return f"http://127.0.0.1:{port}"

    def _call(self, node: str, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        return self._knock_and_call(self._node(node).socket, node, method, path, body)

    def _users(self, method: str, path: str, body: dict[str, Any] | None = None) -> httpx.Response:
        return self._knock_and_call(self._layout().traffic_socket, "the traffic", method, path, body)

    @staticmethod
    def _knock_and_call(
        door: Path, who: str, method: str, path: str, body: dict[str, Any] | None
    ) -> httpx.Response:
        transport = httpx.HTTPTransport(uds=str(door))
        try:
            _knock(door)
            with httpx.Client(
                transport=transport, base_url="http://node", timeout=CALL_TIMEOUT, trust_env=False
            ) as client:
                response = client.request(method, path, json=body)
        except (httpx.HTTPError, OSError) as error:
            raise Unavailable(f"{who} does not answer: {error}") from error
        if response.status_code >= 500:
            raise Unavailable(f"{who} answered {response.status_code} to {method} {path}")
        if response.status_code >= 400:
            raise InvalidInput(f"{who} refuses {method} {path}: {response.text[:200]}")
        return response

    def _ask(self, address: str, model: str, tokens: int, timeout: float) -> Answer:
        """Stream one answer; the time-out holds for the whole of it."""
        body = {
            "model": model, "messages": [{"role": "user", "content": _QUESTION}], "max_tokens": tokens,
            "ignore_eos": True, "stream": True,
        }  # fmt: skip
        began = self._clock.monotonic()
        arrivals: list[float] = []
        try:
            with (
                httpx.Client(timeout=timeout, trust_env=False) as client,
                client.stream("POST", f"{address}/v1/chat/completions", json=body) as response,
            ):
                if response.status_code != 200:
                    return Answer(ok=False, detail=f"HTTP {response.status_code}")
                for line in response.iter_lines():
                    now = self._clock.monotonic() - began
                    if now > timeout:
                        return Answer(ok=False, detail=f"no end within {timeout:g} s")
                    arrivals += [now] * _tokens_in(line)
        except httpx.HTTPError as error:
            return Answer(ok=False, detail=f"{type(error).__name__}: {error}")
        if not arrivals:
            return Answer(ok=False, detail="no token")
        tpot = (arrivals[-1] - arrivals[0]) / (len(arrivals) - 1) if len(arrivals) > 1 else None
        return Answer(ok=True, ttft=arrivals[0], tpot=tpot)


def _knock(path: Path) -> None:
    """Raise `OSError` when nobody listens: a refused unix socket is left open by the HTTP client."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as visitor:
        visitor.settimeout(CALL_TIMEOUT)
        visitor.connect(str(path))


def _tokens_in(line: str) -> int:
    """Count the content chunks in one line of an event stream: 0 or 1."""
    if not line.startswith("data: {"):
        return 0
    try:
        event = json.loads(line[6:])
        return int(any(choice["delta"].get("content") for choice in event["choices"]))
    except (ValueError, LookupError, TypeError, AttributeError):
        return 0
