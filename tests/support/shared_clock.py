"""A virtual clock that this process and those forked from it share."""

import ctypes
import multiprocessing
from datetime import datetime, timedelta

from controlplane.kernel.clock import VirtualClock


class SharedClock(VirtualClock):
    """Whoever advances it does so for all. Not for two processes that advance it at once."""

    def __init__(self) -> None:
        super().__init__()
        self._began = super().now()
        self._moved = multiprocessing.RawValue("d", 0.0)

    def now(self) -> datetime:
        return self._began + timedelta(seconds=self._moved.value)

    def monotonic(self) -> float:
        return float(self._moved.value)

    def part(self) -> None:
        """Have a time of its own from now on, as only a forked process may."""
        self._moved = ctypes.c_double(self._moved.value)

    def advance(self, seconds: float) -> datetime:
        if seconds < 0:
            msg = f"time does not go backwards: {seconds} s"
            raise ValueError(msg)
        with self._lock:
            self._moved.value += seconds
        return self.now()
