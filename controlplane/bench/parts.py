"""What the measurements share: a broker of their own, processes that end with their block,
and their time on a core.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Unavailable

SERVE = (sys.executable, "-m", "controlplane.bench.serve")


@contextmanager
def process(argv: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Start a process, and end it with the block."""
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        try:
            yield running
        finally:
            running.terminate()


@contextmanager
def broker(folder: Path, clock: Clock) -> Iterator[tuple[str, int]]:
    """Start a Redis for the time of the block, and yield its URL and its process's id."""
    binary = shutil.which("redis-server")
    if binary is None:
        msg = "redis-server is not installed"
        raise Unavailable(msg)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with process(argv) as running:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            clock.sleep(0.1)
        yield f"redis://127.0.0.1:{port}/0", running.pid


def cpu_seconds(pid: int) -> float:
    """Return the time that a process has spent on a core, its own and the kernel's for it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system = int(fields[11]), int(fields[12])
    return (user + system) / os.sysconf("SC_CLK_TCK")
