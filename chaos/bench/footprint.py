"""What the embedded fleet costs while it serves: cores over a minute, memory, time to ready.

Counted over the whole process tree of a state directory, traffic included, and the
process that started it. Memory is the proportional set size (shared pages divided by
their users); where the system does not know it (macOS), the resident size, which is more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import psutil

from chaos.lab.processes import ProcessTable
from controlplane.kernel.clock import Clock


@dataclass(frozen=True, slots=True)
class Use:
    """One process family's use: cores (CPU seconds per second) and memory in MB."""

    name: str
    cores: float
    megabytes: float


def measure(table: ProcessTable, clock: Clock, seconds: float) -> list[Use]:
    """Watch every living process for ``seconds`` and return what each used, the largest first."""
    families = {record.name: _family(record.pid) for record in table.records() if table.is_alive(record)}
    families["this process"] = [psutil.Process()]
    before = {name: _cpu(processes) for name, processes in families.items()}
    began = clock.monotonic()
    clock.sleep(seconds)
    elapsed = clock.monotonic() - began
    uses = [
        Use(name, (_cpu(processes) - before[name]) / elapsed, _memory(processes) / 1e6)
        for name, processes in families.items()
    ]
    return sorted(uses, key=lambda use: -use.cores)


def _family(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def _cpu(processes: Iterable[psutil.Process]) -> float:
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def _memory(processes: Iterable[psutil.Process]) -> float:
    total = 0.0
    for process in processes:
        try:
            info = process.memory_full_info()
        except psutil.NoSuchProcess:
            continue
        total += getattr(info, "pss", info.rss)
    return total
