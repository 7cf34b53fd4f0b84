"""XID errors of the lab's GPUs: what each code does to a card and to the engine on it.

Data with the meaning of NVIDIA's XID catalogue, and the few effects that an engine on one card can
show: it ends once, it ends and cannot start until the card is reset, it hangs until then, the card
is gone until the node is replaced, or nothing. A code of the fabric ends the engine as it would a
rank of a tensor-parallel group; the lab's engines have one card each.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Effect(StrEnum):
    """What becomes of the engine."""

    NOTHING = "nothing"
    """A warning, or an echo of another error."""
    ENDS = "ends"
    """The engine dies; its next start is well."""
    UNUSABLE = "unusable"
    """The engine dies, and no start succeeds until the card is reset."""
    HANGS = "hangs"
    """The engine makes no step any more, and no start succeeds until the card is reset."""
    LOST = "lost"
    """The card is gone: the engine dies, no start succeeds, a reset does not help."""

    @property
    def starts_fail(self) -> bool:
        return self in {Effect.UNUSABLE, Effect.HANGS, Effect.LOST}


class Xid(NamedTuple):
    """One code: its meaning, and its effect on the engine."""

    text: str
    effect: Effect


CATALOGUE: dict[int, Xid] = {
    8: Xid("GPU stopped processing", Effect.ENDS),
    13: Xid("Graphics Engine Exception", Effect.ENDS),
    31: Xid("GPU memory page fault", Effect.ENDS),
    32: Xid("Invalid or corrupted push buffer stream", Effect.ENDS),
    43: Xid("GPU stopped processing", Effect.ENDS),
    45: Xid("Preemptive cleanup, due to previous errors", Effect.NOTHING),
    46: Xid("GPU stopped processing", Effect.HANGS),
    48: Xid("Double Bit ECC Error", Effect.UNUSABLE),
    62: Xid("Internal micro-controller halt", Effect.UNUSABLE),
    63: Xid("ECC page retirement or row remapping recording event", Effect.NOTHING),
    64: Xid("ECC page retirement or row remapper recording failure", Effect.UNUSABLE),
    68: Xid("NVDEC0 Exception", Effect.ENDS),
    69: Xid("Graphics Engine class error", Effect.ENDS),
    74: Xid("NVLINK Error", Effect.UNUSABLE),
    79: Xid("GPU has fallen off the bus", Effect.LOST),
    92: Xid("High single-bit ECC error rate", Effect.NOTHING),
    94: Xid("Contained ECC error", Effect.ENDS),
    95: Xid("Uncontained ECC error", Effect.UNUSABLE),
    109: Xid("Context Switch Timeout Error", Effect.HANGS),
    119: Xid("GSP RPC Timeout", Effect.HANGS),
    120: Xid("GSP Error", Effect.HANGS),
    140: Xid("Unrecovered ECC Error", Effect.UNUSABLE),
    143: Xid("GPU Initialization Failure", Effect.UNUSABLE),
    158: Xid("GPU Fatal Timeout", Effect.HANGS),
}

IGNORED_BY_DEVICE_PLUGIN = frozenset({13, 31, 43, 45, 68, 109})
"""Codes after which NVIDIA's device plugin still offers the card; after any other it does not."""

START_FAILS_AFTER = 2.0
"""Seconds from a container's start until CUDA cannot be initialised; less than loading takes."""


@dataclass(frozen=True, slots=True)
class Strike:
    """One error that befell a card: through which fault, and the incarnation that ran on it."""

    fault: str
    code: int
    uid: str
    standing: bool = True

    @property
    def effect(self) -> Effect:
        return CATALOGUE[self.code].effect if self.standing else Effect.NOTHING


class Health:
    """What befell one card since its node began. The newest code stays told, as DCGM's gauge does."""

    def __init__(self) -> None:
        self._strikes: dict[str, Strike] = {}

    @property
    def xid(self) -> int:
        """The code of the newest error; 0 without any."""
        return next((strike.code for strike in reversed(self._strikes.values())), 0)

    @property
    def lost(self) -> bool:
        """Whether the card is gone from the bus."""
        return any(strike.effect is Effect.LOST for strike in self._strikes.values())

    @property
    def offered(self) -> bool:
        """Whether the device plugin offers the card to new pods."""
        return not any(strike.code not in IGNORED_BY_DEVICE_PLUGIN for strike in self._strikes.values())

    def hangs(self, uid: str) -> bool:
        """Whether an incarnation that ran when the error came hangs by it."""
        return any(strike.effect is Effect.HANGS and strike.uid == uid for strike in self._strikes.values())

    def spoiler(self) -> str | None:
        """Return the fault by which no start on this card succeeds."""
        return next((strike.fault for strike in self._strikes.values() if strike.effect.starts_fail), None)

    def strike(self, fault: str, code: int, uid: str) -> Effect | None:
        """Let an error befall the card; None when this fault has done so before."""
        if fault in self._strikes:
            return None
        self._strikes[fault] = Strike(fault, code, uid)
        return CATALOGUE[code].effect

    def forget_but(self, faults: set[str]) -> None:
        """Forget the errors of faults that are over."""
        self._strikes = {name: strike for name, strike in self._strikes.items() if name in faults}

    def reset(self) -> None:
        """Reset the card: all is well again but a card that is gone. The gauge keeps the code."""
        self._strikes = {
            name: strike
            if strike.effect is Effect.LOST
            else Strike(strike.fault, strike.code, strike.uid, standing=False)
            for name, strike in self._strikes.items()
        }


def kernel_line(bus_id: str, code: int) -> str:
    """Return the line that the driver writes to the kernel's log."""
    return f"NVRM: Xid (PCI:{bus_id}): {code}, pid='<unknown>', name=<unknown>, {CATALOGUE[code].text}"
