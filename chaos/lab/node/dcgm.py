"""The DCGM exporter's text for the GPUs of one node.

Written by hand because the exporter is a Go program: its labels come in the order of its
template, not sorted, and its floats have six decimals. Fields are those of the exporter's
default-counters.csv. No XID ever occurs on a lab GPU by itself; one that a drill brings about
stays in the gauge, as DCGM keeps the last, with labels that say it too. Of a card that has
fallen off the bus nothing is left but that code, which DCGM had taken before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from chaos.lab.node.gpu import MODEL_NAME, Gpu, Reading
from chaos.lab.node.xid import CATALOGUE

_DRIVER = "550.90.07"
_CONTAINER = "vllm"
_NAMESPACE = "llm"
_Value = Callable[[Reading], int | float]


def _never(_: Reading) -> int:
    return 0


_XID = "DEV_XID_ERRORS"

FIELDS: tuple[tuple[str, str, str, _Value], ...] = (
    ("DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).", lambda r: r.sm_clock),
    ("DEV_MEM_CLOCK", "gauge", "Memory clock frequency (in MHz).", lambda r: r.memory_clock),
    ("DEV_MEMORY_TEMP", "gauge", "Memory temperature (in C).", lambda r: r.memory_temperature),
    ("DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", lambda r: r.temperature),
    ("DEV_POWER_USAGE", "gauge", "Power draw (in W).", lambda r: r.power_watts),
    (
        "DEV_TOTAL_ENERGY_CONSUMPTION",
        "counter",
        "Total energy consumption since boot (in mJ).",
        lambda r: r.energy_mj,
    ),
    ("DEV_PCIE_REPLAY_COUNTER", "counter", "Total number of PCIe retries.", _never),
    ("DEV_GPU_UTIL", "gauge", "GPU utilization (in %).", lambda r: r.utilisation),
    ("DEV_MEM_COPY_UTIL", "gauge", "Memory utilization (in %).", lambda r: r.memory_utilisation),
    (_XID, "gauge", "Value of the last XID error encountered.", _never),
    ("DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB).", lambda r: r.memory_free),
    ("DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB).", lambda r: r.memory_used),
    ("DEV_FB_RESERVED", "gauge", "Framebuffer memory reserved (in MiB).", lambda r: r.memory_reserved),
    (
        "DEV_UNCORRECTABLE_REMAPPED_ROWS",
        "counter",
        "Number of remapped rows for uncorrectable errors",
        _never,
    ),
    ("DEV_CORRECTABLE_REMAPPED_ROWS", "counter", "Number of remapped rows for correctable errors", _never),
    ("DEV_ROW_REMAP_FAILURE", "gauge", "Whether remapping of rows has failed", _never),
    (
        "DEV_NVLINK_BANDWIDTH_TOTAL",
        "counter",
        "Total number of NVLink bandwidth counters for all lanes.",
        _never,
    ),
    (
        "PROF_GR_ENGINE_ACTIVE",
        "gauge",
        "Ratio of time the graphics engine is active (in %).",
        lambda r: r.engine_active,
    ),
    (
        "PROF_PIPE_TENSOR_ACTIVE",
        "gauge",
        "Ratio of cycles the tensor (HMMA) pipe is active (in %).",
        lambda r: r.tensor_active,
    ),
    (
        "PROF_DRAM_ACTIVE",
        "gauge",
        "Ratio of cycles the device memory interface is active sending or receiving data (in %).",
        lambda r: r.memory_active,
    ),
)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A card and the replica (pod) it is given to."""

    gpu: Gpu
    pod: str


def exposition(hostname: str, assignments: Iterable[Assignment], now: float) -> bytes:
    """Return the exporter's /metrics of a node at ``now`` (seconds of the engine's clock)."""
    cards = [
        (assigned.gpu, assigned.gpu.read(now), *_labels(assigned, hostname))
        for assigned in sorted(assignments, key=lambda assigned: assigned.gpu.index)
    ]
    lines = []
    for field, kind, text, value in FIELDS:
        name = f"DCGM_FI_{field}"
        lines.append(f"# HELP {name} {text}\n# TYPE {name} {kind}\n")
        for gpu, reading, device, attributes in cards:
            if field == _XID:
                code = gpu.health.xid
                text_of_code = CATALOGUE[code].text if code else "No Error"
                # Attributes are sorted by name, and `err_…` falls between `container` and `namespace`.
                error = f'err_code="{code}",err_msg="{text_of_code}",'
                lines.append(f'{name}{{{device},container="{_CONTAINER}",{error}{attributes}}} {code}\n')
            elif not gpu.health.lost:
                labels = f'{device},container="{_CONTAINER}",{attributes}'
                lines.append(f"{name}{{{labels}}} {_number(value(reading))}\n")
    return "".join(lines).encode()


def _labels(assigned: Assignment, hostname: str) -> tuple[str, str]:
    gpu = assigned.gpu
    device = (
        f'gpu="{gpu.index}",UUID="{gpu.uuid}",pci_bus_id="0000{gpu.bus_id}.0",'
        f'device="nvidia{gpu.index}",modelName="{MODEL_NAME}",Hostname="{hostname}",'
        f'DCGM_FI_DRIVER_VERSION="{_DRIVER}"'
    )
    return device, f'namespace="{_NAMESPACE}",pod="{assigned.pod}"'


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.6f}"
