"""What the driver's error codes (XIDs) and a card's health mean, and on which rung their remedy begins.

Data. A row follows NVIDIA's Xid catalogue (immediate action) as mirrored in gpud's generated
table, where consumers differ also NVSentinel's mapping; ``source`` says which. The ladder is
NVIDIA Health Validation's idea: an action that did not help is followed by a stronger one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

XidClass = Literal["app", "gpu", "node", "fabric", "warning", "secondary"]
"""What is at fault: the program, one card, the machine, the links between cards; nothing yet
(``warning``), or something that another code tells better (``secondary``)."""

Rung = Literal["none", "restart-engine", "reset-gpu", "replace-node", "support"]
LADDER: tuple[Rung, ...] = ("none", "restart-engine", "reset-gpu", "replace-node", "support")

CATALOGUE = "NVIDIA Xid catalogue: immediate action"
SENTINEL = "NVSentinel: DCGM and Xid mappings"


@dataclass(frozen=True, slots=True)
class Ailment:
    """One code, or one bad field of a card's health."""

    text: str
    fault: XidClass
    rung: Rung
    source: str = CATALOGUE


XIDS: dict[int, Ailment] = {
    8: Ailment("GPU stopped processing", "app", "restart-engine"),
    13: Ailment("graphics engine exception", "app", "restart-engine"),
    31: Ailment("GPU memory page fault", "app", "restart-engine"),
    32: Ailment("invalid or corrupted push buffer stream", "app", "restart-engine"),
    43: Ailment("GPU stopped processing (channel reset)", "app", "restart-engine", SENTINEL),
    45: Ailment("preemptive cleanup, due to previous errors", "secondary", "none"),
    46: Ailment("GPU stopped processing (timeout)", "gpu", "reset-gpu"),
    48: Ailment("double-bit ECC error", "gpu", "reset-gpu", SENTINEL),
    62: Ailment("internal micro-controller halt", "gpu", "reset-gpu"),
    63: Ailment("row remapping recorded", "warning", "none"),
    64: Ailment("row remapping failed", "gpu", "reset-gpu"),
    66: Ailment("illegal access by driver", "warning", "none"),
    68: Ailment("NVDEC exception", "app", "restart-engine"),
    69: Ailment("graphics engine class error", "app", "restart-engine"),
    74: Ailment("NVLink error", "fabric", "reset-gpu", SENTINEL),
    79: Ailment("GPU has fallen off the bus", "node", "replace-node"),
    92: Ailment("high single-bit ECC error rate", "warning", "none"),
    93: Ailment("InfoROM wear limit", "warning", "none"),
    94: Ailment("contained memory error", "app", "restart-engine"),
    95: Ailment("uncontained memory error", "gpu", "reset-gpu"),
    109: Ailment("context switch timeout", "gpu", "reset-gpu"),
    110: Ailment("security fault", "gpu", "reset-gpu"),
    119: Ailment("GSP RPC timeout", "gpu", "reset-gpu"),
    120: Ailment("GSP error", "gpu", "reset-gpu"),
    121: Ailment("C2C link error", "warning", "none"),
    136: Ailment("link training failed", "fabric", "reset-gpu"),
    137: Ailment("NVLink privilege error", "fabric", "none"),
    140: Ailment("unrecovered ECC error", "gpu", "reset-gpu"),
    143: Ailment("GPU initialisation error", "gpu", "reset-gpu"),
    **{code: Ailment("NVLink 5 error", "fabric", "reset-gpu", SENTINEL) for code in range(144, 151)},
    154: Ailment("recovery action changed", "secondary", "none"),
    155: Ailment("NVLink software error", "fabric", "reset-gpu"),
    156: Ailment("resource retired", "gpu", "reset-gpu"),
    157: Ailment("resource retirement failed", "warning", "none"),
    158: Ailment("GPU fatal timeout", "gpu", "reset-gpu"),
    160: Ailment("channel retired", "warning", "none"),
    161: Ailment("channel retirement failed", "warning", "none"),
}

UNKNOWN = Ailment("a code that the catalogue does not know here", "gpu", "support", SENTINEL)
"""NVSentinel too sends what it does not know to a person."""

HEALTH: dict[str, Ailment] = {
    "row-remap-failure": Ailment("remapping of a row has failed", "gpu", "replace-node", SENTINEL),
    "row-remap-pending": Ailment("a row waits for a reset to be remapped", "gpu", "reset-gpu", SENTINEL),
    "ecc-dbe": Ailment("double-bit ECC errors since the last reset", "gpu", "reset-gpu", SENTINEL),
    "health-thermal": Ailment("slowed down by heat, says DCGM's thermal watch", "warning", "none", SENTINEL),
    "health-power": Ailment("slowed down by its power, says DCGM's power watch", "warning", "none", SENTINEL),
    "health-nvlink": Ailment(
        "a link is down or errs, says DCGM's NVLink watch", "fabric", "reset-gpu", SENTINEL
    ),
}


def name_of(code: int) -> str:
    """Return the name of a code's signal."""
    return f"xid-{code}"


def code_of(name: str) -> int | None:
    """Return the code of a signal's name; None for a field of health."""
    number = name.removeprefix("xid-")
    return int(number) if name.startswith("xid-") and number.isdigit() else None


def ailment(name: str) -> Ailment:
    """Return what a signal's name stands for."""
    code = code_of(name)
    return HEALTH.get(name, UNKNOWN) if code is None else XIDS.get(code, UNKNOWN)


def higher(rung: Rung) -> Rung:
    """Return the next rung; the last one stays."""
    return LADDER[min(LADDER.index(rung) + 1, len(LADDER) - 1)]
