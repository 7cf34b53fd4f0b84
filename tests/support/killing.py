"""A worker in a process of its own, that is killed without warning at a chosen point.

It is forked from this process, which has everything loaded, and opens the database's file for
itself. The fleet and the people live on here: what the worker does to them goes over a pipe, so
that effects are counted where they outlive it. Time is shared.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing.connection import Connection
from typing import Any, cast

from controlplane.kernel.errors import FleetwardError
from controlplane.model.ports import Notification
from controlplane.model.records import Run
from tests.support.rig import WRITES, Fuse, FusedOutbox, FusedPlatform, Rig, around_effect

_FORK = multiprocessing.get_context("fork")

Drive = Callable[[Rig, Run], None]
"""Goes on with a run, and all that follows from it, until they have ended."""


def killed(rig: Rig, run: Run, at: int, drive: Drive) -> None:
    """Let a forked worker drive the run until it is killed at the ``at``-th point; fail if it is not."""
    ours, theirs = _FORK.Pipe()
    rig.database.close()  # no connection may be carried into another process
    rig.executors += 1
    worker = _FORK.Process(target=_work, args=(rig, run, at, drive, theirs))
    worker.start()
    theirs.close()
    with ours:
        _serve(ours, {"platform": rig.platform, "outbox": rig.outbox})
    worker.join()
    code = worker.exitcode
    worker.close()
    if code != -signal.SIGKILL:
        msg = f"nobody was killed at point {at}: the worker ended with {code}"
        raise AssertionError(msg)


def _serve(wire: Connection, served: Mapping[str, object]) -> None:
    """Answer the worker's calls until it is gone."""
    while True:
        try:
            name, method, args, more = wire.recv()
        except EOFError:
            return
        try:
            answer: Any = getattr(served[name], method)(*args, **more)
        except FleetwardError as error:
            answer = error
        wire.send(answer)


def _work(rig: Rig, run: Run, at: int, drive: Drive, wire: Connection) -> None:
    rig.reopen()
    rig.platform = cast("FusedPlatform", _Platform(wire))
    rig.outbox = _Outbox(wire)
    rig.executor = rig.new_executor()
    rig.arm(Fuse(at, lambda _: os.kill(os.getpid(), signal.SIGKILL)))
    drive(rig, run)


def _call(wire: Connection, name: str, method: str, *args: Any, **more: Any) -> Any:
    wire.send((name, method, args, more))
    answer = wire.recv()
    if isinstance(answer, FleetwardError):
        raise answer
    return answer


class _Platform:
    """The parent's fleet, as the worker sees it; the worker may die right before and after each effect."""

    fuse: Fuse | None = None

    def __init__(self, wire: Connection) -> None:
        self._wire = wire

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = partial(_call, self._wire, "platform", name)
        return partial(self._write, call) if name in WRITES else call

    def _write(self, call: Callable[..., Any], *args: Any, **more: Any) -> Any:
        with around_effect(self.fuse):
            return call(*args, **more)


class _Outbox(FusedOutbox):
    """The parent's people."""

    def __init__(self, wire: Connection) -> None:
        super().__init__()
        self._wire = wire

    def send(self, notification: Notification, **more: Any) -> None:
        with around_effect(self.fuse):
            _call(self._wire, "outbox", "send", notification, **more)
