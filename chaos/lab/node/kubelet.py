"""When a container that ended is started again: the kubelet's crash back-off, and nothing else of a kubelet.

At once for the first time, then after 10 s, twice as long each time, five minutes at most; who ran
for ten minutes starts anew. The numbers are the kubelet's own and are not shortened: a crash loop
that is short of them would look like a service that comes back by itself.
"""

from __future__ import annotations

FIRST, LONGEST = 10.0, 300.0
"""Seconds."""
FORGIVEN_AFTER = 600.0
"""Seconds of running after which earlier crashes do not count."""


class CrashBackoff:
    """The restarts of one pod's container."""

    def __init__(self) -> None:
        self.restarts = 0
        self._next = 0.0

    def ended(self, ran: float) -> float:
        """Note that the container ended after ``ran`` seconds; return the seconds until its next start."""
        if ran >= FORGIVEN_AFTER:
            self._next = 0.0
        delay, self._next = self._next, min(LONGEST, max(FIRST, 2 * self._next))
        return delay

    def forgive(self) -> None:
        """Let the next end be like the first."""
        self._next = 0.0
