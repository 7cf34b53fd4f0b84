"""Running totals at past moments, in a circle of slots: the newest takes the place of the oldest.

A long ring keeps what each total gained since its block of slots began, in half the bytes: that is
exact up to 16 million events, and beyond to one in 16 million. It knows nothing of windows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_Cells = NDArray[np.float64] | NDArray[np.float32]

BLOCK = 12
"""Slots of a long ring that share a base: an hour in steps of five minutes."""
_GRAIN = 2.0**-23
"""How far a number of half the bytes may be off, as a share of it, and as much again."""


class Ring:
    """Running totals at past moments."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._places = slots
        self._times = np.empty(slots)
        self._values: _Cells = np.zeros((slots, 0))
        self._count = 0
        self._next = 0
        self.order: Ints = np.arange(0)
        """Slots from the oldest to the newest."""
        self.times: Floats = np.zeros(0)
        """Their times."""

    def grow(self, rows: int) -> None:
        """Make room for so many rows and a few more. Slots that are not used yet take no memory."""
        known = self._values.shape[1]
        if rows > known:
            grown = np.zeros((self._places, max(256, rows + rows // 16)), self._values.dtype)
            grown[self.order, :known] = self._values[self.order]
            self._values = grown

    def append(self, at: float, totals: Floats) -> None:
        """Keep the totals of ``at``."""
        self._times[self._next] = at
        self._write(self._next, totals)
        self._next = (self._next + 1) % self._places
        self._count = min(self._count + 1, self.slots)
        self.order = (self._next - self._count + np.arange(self._count)) % self._places
        self.times = self._times[self.order]

    def _write(self, slot: int, totals: Floats) -> None:
        self._values[slot, : totals.size] = totals  # what is beyond was never written

    def rows_at(self, slot_of_order: int, rows: Ints) -> Floats:
        """Return the totals of ``rows`` in a slot, counted from the oldest."""
        return np.asarray(self._values[self.order[slot_of_order], rows])

    def grain(self, slot_of_order: int, rows: Ints) -> Floats:
        """Return how far these totals may be off."""
        del slot_of_order
        return np.zeros(rows.size)

    def spread(self, rows: Ints, amounts: Floats, since: Floats, now: float) -> None:
        """Give the slots between ``since`` and ``now`` their share of amounts that became known late."""
        first = int(np.searchsorted(self.times, since.min(), side="right"))
        for slot, at in zip(self.order[first:], self.times[first:], strict=True):
            share = np.clip((at - since) / np.maximum(now - since, 1e-9), 0.0, 1.0)
            np.add.at(self._values[slot], rows, (amounts * share).astype(self._values.dtype))

    def lift(self, rows: Ints, amounts: Floats) -> None:
        """Add to each slot, from the oldest to the newest, a column of ``amounts``."""
        self._values[np.ix_(self.order, rows)] += amounts.T.astype(self._values.dtype)


class LongRing(Ring):
    """One that keeps for each slot what was gained since its block began, and for each block where it began.

    It has a block more than it shows, so that no base is overwritten while a slot still needs it.
    """

    def __init__(self, slots: int) -> None:
        super().__init__(slots)
        self._places = (-(-slots // BLOCK) + 1) * BLOCK
        self._times = np.empty(self._places)
        self._values = np.zeros((self._places, 0), np.float32)
        self._bases = np.zeros((self._places // BLOCK, 0))

    def grow(self, rows: int) -> None:
        super().grow(rows)
        missing = self._values.shape[1] - self._bases.shape[1]
        if missing:
            self._bases = np.pad(self._bases, ((0, 0), (0, missing)))

    def _write(self, slot: int, totals: Floats) -> None:
        base = self._bases[slot // BLOCK]
        if slot % BLOCK == 0:
            base[: totals.size] = totals
        self._values[slot, : totals.size] = totals - base[: totals.size]

    def rows_at(self, slot_of_order: int, rows: Ints) -> Floats:
        slot = self.order[slot_of_order]
        return np.asarray(self._bases[slot // BLOCK, rows] + self._values[slot, rows])

    def grain(self, slot_of_order: int, rows: Ints) -> Floats:
        return np.asarray(np.abs(self._values[self.order[slot_of_order], rows]) * _GRAIN)
