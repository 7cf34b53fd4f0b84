"""An event loop whose time jumps to the next timer, so that engines run for minutes in milliseconds."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable
from typing import Any

import pytest


class _Selector(selectors.SelectSelector):
    """Instead of waiting, moves the loop's time by what it was asked to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A selector loop on virtual time."""

    def __init__(self) -> None:
        self._time = _Selector()
        super().__init__(self._time)

    def time(self) -> float:
        return self._time.now


@pytest.fixture
def run() -> Callable[[Callable[[], Awaitable[Any]]], Any]:
    """Return a function that runs a coroutine function on a virtual loop."""

    def runner(main: Callable[[], Awaitable[Any]]) -> Any:
        async def entry() -> Any:
            return await main()

        with asyncio.Runner(loop_factory=VirtualLoop) as on:
            return on.run(entry())

    return runner
