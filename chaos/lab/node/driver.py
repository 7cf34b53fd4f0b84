"""The asyncio side of an engine: steps at their times, tokens to whoever waits for them.

There is a timer only while a step is in flight: an idle engine costs nothing. Steps keep
the model's own time, so that a late wake-up does not slow the engine down; only what is
later than a step could hide (a stopped process) is given up and not caught up.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from chaos.lab.engine.engine import Engine
from chaos.lab.engine.request import Request
from chaos.lab.node.metrics import EngineMetrics

_CATCH_UP = 0.010  # seconds of lateness that the next step makes up for


class Listener(Protocol):
    """Somebody who waits for a request's tokens."""

    def token(self, request: Request) -> None:
        """Take the newest token; ``finish_reason`` is set with the last one. Must not raise."""
        ...


class Driver:
    """Runs one engine in the current event loop. All calls belong to the loop's thread."""

    def __init__(self, engine: Engine, metrics: EngineMetrics) -> None:
        self.engine = engine
        self._metrics = metrics
        self._loop = asyncio.get_running_loop()
        self._listeners: dict[Request, Listener] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._ends_at = 0.0

    @property
    def now(self) -> float:
        """Seconds of the engine's clock, which is the loop's."""
        return self._loop.time()

    def submit(self, request: Request, listener: Listener) -> None:
        """Queue a request. Raises InvalidInput as `Engine.add` does."""
        now = self.now
        self.engine.add(request, now)
        self._listeners[request] = listener
        if self._timer is None:
            self._begin(now)

    def abort(self, request: Request) -> None:
        """Say that nobody waits any more; the slot is free at the next step boundary."""
        if self._listeners.pop(request, None) is not None:
            self.engine.abort(request)

    def set_faults(self, *, slow_factor: float, hung: bool) -> None:
        """Make the engine's condition so; a hang begins and ends at once, a factor with the next step."""
        self.engine.slow_factor = slow_factor
        if hung and not self.engine.hung:
            self.engine.hang(self.now)
        elif self.engine.hung and not hung:
            self.engine.resume(self.now)
            if self._timer is None:
                self._step()

    def stop(self) -> None:
        """Never step again; requests in the engine are lost with it, as in a crash."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.engine.hang(self.now)
        self._listeners.clear()

    def _begin(self, now: float) -> None:
        ends_at = self.engine.begin(now)
        if ends_at is not None:
            self._ends_at = ends_at
            self._timer = self._loop.call_at(ends_at, self._step)

    def _step(self) -> None:
        self._timer = None
        now = self.now
        report = self.engine.complete(now)
        if report is not None:
            self._metrics.observe(report)
            listeners = self._listeners
            for request in report.outputs:
                listener = listeners.get(request)
                if listener is not None:
                    listener.token(request)
            for request in report.finished:
                listeners.pop(request, None)
        self._begin(max(self._ends_at, now - _CATCH_UP))
