"""A fleet on paper, and its metrics in a real Prometheus: blocks made by promtool, or pushed.

Every replica shows what four objectives need, under the engine's own names. promtool reads its input
again for each block of two hours, so that every block has a file of its own. What is pushed stays in
memory, where a Prometheus has what it scraped last.
"""

from __future__ import annotations

import itertools
import math
import re
import shutil
import struct
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from controlplane.kernel.clock import from_unix
from controlplane.kernel.errors import Unavailable
from controlplane.model.service import Service
from controlplane.model.slo import Slo
from controlplane.model.topology import NodeView, ReplicaView, Topology, Weights, ZoneView

BLOCK = 7200
ZONES = ("zone-a", "zone-b", "zone-c")
LATENCIES = {
    "ttft": ("vllm:time_to_first_token_seconds", "1.0"),
    "itl": ("vllm:inter_token_latency_seconds", "0.05"),
    "e2e": ("vllm:e2e_request_latency_seconds", "30.0"),
}
BATCH = 2000
"""Series that are pushed at once."""
PER_REPLICA = 2 + 3 * len(LATENCIES)
"""Series that objectives read of a replica."""


@dataclass(frozen=True, slots=True)
class PaperFleet:
    """A service in three zones, of equal nodes."""

    name: str
    nodes: int
    replicas: int
    """Of each node."""
    copies: int = 1
    """How many objectives there are of each kind."""

    @property
    def size(self) -> int:
        return len(ZONES) * self.nodes * self.replicas

    @property
    def service(self) -> Service:
        spec = {"model": "m", "zones": [{"name": zone} for zone in ZONES]}
        return Service.model_validate({"kind": "Service", "metadata": {"name": self.name}, "spec": spec})

    def slos(self) -> list[Slo]:
        """Return an objective of each kind at every level, over 30 days, as Sloth would judge it."""
        spec = {"service": self.name, "target": "99.9%", "window": {"rolling": "30d"}, "minEvents": 0}
        spec |= {"by": ["service", "zone", "node", "replica"]}
        found = [("success", {"indicator": "success"})]
        found += [
            (name, {"indicator": name, "threshold": f"{float(bound) * 1000:g}ms"})
            for name, (_, bound) in LATENCIES.items()
        ]
        return [
            Slo.model_validate(
                {"kind": "SLO", "metadata": {"name": f"{self.name}-{name}{copy}"}, "spec": {**spec, **own}}
            )
            for name, own in found
            for copy in ["", *(f"-{number}" for number in range(1, self.copies))]
        ]

    def topology(self, service: str) -> Topology:
        zones = tuple(
            ZoneView(name=zone, nodes=tuple(self._node(zone, number) for number in range(self.nodes)))
            for zone in ZONES
        )
        return Topology(service=service, cluster="local", zones=zones, observed_at=from_unix(0.0))

    def weights(self, service: str) -> Weights:
        del service
        return Weights(version="1", weights=dict.fromkeys(ZONES, 100))

    def _node(self, zone: str, number: int) -> NodeView:
        name = f"{zone}-n{number}"
        replicas = tuple(
            ReplicaView(name=f"{name}-r{slot}", uid="1", ready=True, address="http://127.0.0.1/", version="1")
            for slot in range(self.replicas)
        )
        return NodeView(name=name, uid="1", ready=True, version="1", replicas=replicas)

    def series(self) -> Iterator[tuple[str, float]]:
        """Return every counter, as it is written, with what it gains each second; 0 for what stands still."""
        for zone in ZONES:
            own = f'service="{self.name}",zone="{zone}"'
            for code, rate in (("2", 3.0 * self.nodes * self.replicas), ("5", 0.001 * self.nodes)):
                yield f'envoy_cluster_upstream_rq_xx{{{own},envoy_response_code_class="{code}"}}', rate
            for node in range(self.nodes):
                for slot in range(self.replicas):
                    name = f"{zone}-n{node}"
                    yield from _of_replica(f'{own},node="{name}",replica="{name}-r{slot}"', 2.0 + slot % 3)


def _of_replica(labels: str, rate: float) -> Iterator[tuple[str, float]]:
    yield f"up{{{labels}}}", 0.0
    for reason, share in (("stop", 0.9998), ("abort", 0.0002)):
        yield f'vllm:request_success_total{{{labels},engine="0",finished_reason="{reason}"}}', rate * share
    for name, bound in LATENCIES.values():
        for le, share in ((bound, 0.9996), ("+Inf", 1.0)):
            yield f'{name}_bucket{{{labels},engine="0",le="{le}"}}', rate * share
        yield f'{name}_count{{{labels},engine="0"}}', rate


def load(
    folder: Path, fleets: Sequence[PaperFleet], span: tuple[float, float], step: float, data: Path
) -> int:
    """Write the fleets' past into Prometheus' folder ``data``; return how many samples it has."""
    tool = shutil.which("promtool")
    if tool is None:
        msg = "promtool is not installed"
        raise Unavailable(msg)
    begin, end = span
    series = [each for fleet in fleets for each in fleet.series()]
    edges = [begin, *range((math.floor(begin) // BLOCK + 1) * BLOCK, math.ceil(end), BLOCK), end]
    text, written = folder / "block.txt", 0
    for first, last in itertools.pairwise(edges):
        times = [
            begin + step * n
            for n in range(math.ceil((first - begin) / step), 1 + int((last - begin) // step))
        ]
        times = [each for each in times if each < last or last == end]
        with text.open("w") as file:
            for name, rate in series:
                if rate:
                    file.writelines(f"{name} {rate * (at - begin):.4f} {at:.3f}\n" for at in times)
                else:
                    file.writelines(f"{name} 1 {at:.3f}\n" for at in times)
            file.write("# EOF\n")
        written += len(series) * len(times)
        if times:
            argv = [tool, "tsdb", "create-blocks-from", "openmetrics", str(text), str(data)]
            subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text.unlink()
    return written


def push(url: str, fleet: PaperFleet, span: tuple[float, float], step: float) -> int:
    """Write a fleet's past to a Prometheus that runs; return how many samples it has."""
    begin, end = span
    times = [begin + step * number for number in range(1 + math.floor((end - begin) / step))]
    stamps = [b"\x10" + _varint(round(1000 * at)) for at in times]
    waiting = iter(fleet.series())
    written = 0
    while batch := list(itertools.islice(waiting, BATCH)):
        request = b"".join(_field(1, _pushed(*each, times, stamps)) for each in batch)
        # Snappy's block format, with all of it as one literal.
        body = _varint(len(request)) + b"\xfc" + struct.pack("<I", len(request) - 1) + request
        headers = {
            "Content-Encoding": "snappy",
            "Content-Type": "application/x-protobuf",
            "X-Prometheus-Remote-Write-Version": "0.1.0",
        }
        asked = urllib.request.Request(f"{url}/api/v1/write", body, headers)  # noqa: S310 - our own
        with urllib.request.urlopen(asked, timeout=30):  # noqa: S310 - the same
            written += len(batch) * len(times)
    return written


def _pushed(name: str, rate: float, times: Sequence[float], stamps: Sequence[bytes]) -> bytes:
    """Return one series in the remote-write protocol: its labels in order, and its samples."""
    metric, _, rest = name.partition("{")
    labels = sorted([("__name__", metric), *re.findall(r'(\w+)="([^"]*)"', rest)])
    words = [_field(1, _field(1, key.encode()) + _field(2, value.encode())) for key, value in labels]
    samples = [
        _field(2, b"\x09" + struct.pack("<d", rate * (at - times[0]) if rate else 1.0) + stamp)
        for at, stamp in zip(times, stamps, strict=True)
    ]
    return b"".join([*words, *samples])


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])
