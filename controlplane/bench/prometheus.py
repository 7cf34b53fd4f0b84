"""A Prometheus over made blocks: what evaluating rules costs it, and what answering a tick does.

Its time on a core comes from the kernel. It scrapes nothing and compacts nothing, so that what it
costs beside its rest is the rules'.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controlplane.bench.parts import cpu_seconds, process
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Unavailable

EVERY = 3
"""Seconds between two evaluations."""
WITHIN = 120.0


@dataclass(slots=True)
class Prometheus:
    """One that runs: where its rules lie, where it is asked, and whose time is read."""

    folder: Path
    url: str
    pid: int
    clock: Clock

    def evaluate(self, groups: Sequence[dict[str, Any]], times: int) -> float:
        """Return the seconds on a core that one evaluation of all ``groups`` takes, over so many."""
        self._load([])
        began, before = self.clock.monotonic(), cpu_seconds(self.pid)
        self.clock.sleep(times * EVERY)
        rest = (cpu_seconds(self.pid) - before) / (self.clock.monotonic() - began)
        self._load(groups)
        first = self._wait_for(len(groups))
        began, before = self.clock.monotonic(), cpu_seconds(self.pid)
        last = self._wait_for(first + times * len(groups))
        spent, lasted = cpu_seconds(self.pid) - before, self.clock.monotonic() - began
        self._load([])
        return (spent - rest * lasted) * len(groups) / (last - first)

    def _load(self, groups: Sequence[dict[str, Any]]) -> None:
        rules = {"groups": [{**group, "interval": f"{EVERY}s"} for group in groups]}
        (self.folder / "rules.json").write_text(json.dumps(rules))
        _ask(f"{self.url}/-/reload", b"")

    def _wait_for(self, evaluations: int) -> int:
        """Wait until the groups that are loaded were evaluated so often together; return how often."""
        deadline = self.clock.monotonic() + WITHIN
        while self.clock.monotonic() < deadline:
            found = self._counted("iterations_total") - self._counted("iterations_missed_total")
            if found >= evaluations:
                return found
            self.clock.sleep(0.1)
        msg = f"Prometheus did not evaluate its rules within {WITHIN:.0f} s"
        raise Unavailable(msg)

    def _counted(self, what: str) -> int:
        name = f"prometheus_rule_group_{what}{{"
        lines = _ask(f"{self.url}/metrics").splitlines()
        return int(sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name)))


@contextmanager
def prometheus(folder: Path, data: Path, clock: Clock) -> Iterator[Prometheus]:
    """Start a Prometheus over ``data`` for the time of the block."""
    binary = shutil.which("prometheus")
    if binary is None:
        msg = "prometheus is not installed"
        raise Unavailable(msg)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = folder / "prometheus.json"
    (folder / "rules.json").write_text('{"groups": []}')
    config.write_text(json.dumps({"rule_files": [str(folder / "rules.json")]}))
    url = f"http://127.0.0.1:{port}"
    argv = [
        binary,
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        "--storage.tsdb.min-block-duration=2h",
        "--storage.tsdb.max-block-duration=2h",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.enable-lifecycle",
        "--web.enable-remote-write-receiver",
        "--log.level=error",
    ]
    with process(argv) as running:
        deadline = clock.monotonic() + WITHIN
        while not _is_ready(url):
            if clock.monotonic() > deadline or running.poll() is not None:
                msg = "Prometheus does not start"
                raise Unavailable(msg)
            clock.sleep(0.2)
        yield Prometheus(folder, url, running.pid, clock)
        running.send_signal(signal.SIGTERM)
        running.wait(30)


def _is_ready(url: str) -> bool:
    try:
        return bool(_ask(f"{url}/-/ready"))
    except (urllib.error.URLError, OSError):
        return False


def _ask(url: str, body: bytes | None = None) -> str:
    with urllib.request.urlopen(url, body, timeout=30) as answer:  # noqa: S310 - our own
        return bytes(answer.read()).decode()
