"""The live stream: one reader of the database per process, fanned out to every open page.

An event on the wire is thin, ``{"id","type","ref"}``: readers fetch what they show, so a
lost or doubled event costs a refetch and nothing else. A ``tick`` says that a snapshot has
changed; it has no id, since there is nothing to resume. No session of the database is held
while a page is open, and nothing is read while no page is.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ParamSpec, TypeVar

import structlog
from anyio import to_thread

from controlplane.kernel.errors import Unavailable
from controlplane.model.records import Event
from controlplane.store.database import Database

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class News:
    """What one poll found."""

    events: Sequence[Event]
    snapshots: dict[str, datetime | None]


QUEUE_LIMIT = 1000
"""Events that one slow reader may lag behind before its stream is ended."""

PAGE = 500
"""Events read at once."""


@dataclass(frozen=True, slots=True)
class EventSource:
    """Where events come from. Called in a thread; each call is a short transaction of its own."""

    database: Database

    def after(self, last_id: int, limit: int) -> Sequence[Event]:
        """Return events with a larger id, oldest first."""
        with self.database.reading() as tx:
            return tx.events.after(last_id, limit)

    def bounds(self) -> tuple[int, int]:
        """Return the smallest kept and the largest id; ``(0, 0)`` when there is none."""
        with self.database.reading() as tx:
            return tx.events.bounds()

    def news(self, last_id: int, snapshots: Sequence[str]) -> News:
        """Return what one poll reads: events after ``last_id``, and when the snapshots were written."""
        with self.database.reading() as tx:
            return News(
                events=tx.events.after(last_id, PAGE),
                snapshots={name: tx.snapshots.at(name) for name in snapshots},
            )


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds. ``lifetime`` makes long-open pages reconnect, so that a roll-out drains."""

    poll: float = 0.25
    heartbeat: float = 15.0
    lifetime: float = 600.0


Frame = bytes
Queue = asyncio.Queue[Event | str | None]
"""What one page has yet to be told: an event, the name of a changed snapshot, or None for the end."""

P = ParamSpec("P")
T = TypeVar("T")


def frame(type_: str, ref: str, id_: int | None = None) -> Frame:
    """Return one event as it goes over the wire."""
    body = json.dumps({"id": id_, "type": type_, "ref": ref}, separators=(",", ":"))
    head = f"id: {id_}\n" if id_ is not None else ""
    return f"{head}event: {type_}\ndata: {body}\n\n".encode()


HEARTBEAT: Frame = b": still here\n\n"


class Hub:
    """Reads once, tells everybody. Belongs to one event loop."""

    def __init__(self, source: EventSource, snapshots: Sequence[str], timing: Timing | None = None) -> None:
        self.timing = timing or Timing()
        self._source = source
        self._snapshots = tuple(snapshots)
        self._readers: set[Queue] = set()
        self._task: asyncio.Task[None] | None = None
        self._last_id = 0
        self._closing = False

    @property
    def open_streams(self) -> int:
        """How many pages listen."""
        return len(self._readers)

    def close(self) -> None:
        """End every stream soon; the process is going away. Safe from a signal handler of the loop."""
        self._closing = True
        for queue in self._readers:
            _offer(queue, None)
        self._stop()

    async def check(self) -> None:
        """Raise `Unavailable` if the stream could not start: before the answer begins, that is a 503."""
        await _in_thread(self._source.bounds)

    async def stream(self, last_id: int | None) -> AsyncIterator[Frame]:
        """Yield frames from after ``last_id`` (None: from now on) until the lifetime is over.

        The reader is registered before the backlog is read, so that nothing falls between.
        """
        queue: Queue = asyncio.Queue(QUEUE_LIMIT)
        self._readers.add(queue)
        try:
            sent, missed = await self._catch_up(last_id)
            self._start(sent)
            yield b"retry: 1000\n\n"
            for each in missed:
                yield each
            while backlog := await _in_thread(self._source.after, sent, PAGE):
                sent = backlog[-1].id
                for event in backlog:
                    yield frame(event.type, event.ref, event.id)
            async for each in self._follow(queue, sent):
                yield each
        except Unavailable as error:
            log.warning("a stream ended: events cannot be read", error=str(error))
        finally:
            self._readers.discard(queue)
            if not self._readers:
                self._stop()

    async def _catch_up(self, last_id: int | None) -> tuple[int, list[Frame]]:
        """Return where to go on from, and a ``reset`` when what was missed is no longer kept."""
        oldest, newest = await _in_thread(self._source.bounds)
        if last_id is None:
            return newest, []
        if last_id > newest or last_id < oldest - 1:
            return newest, [frame("reset", "", newest)]
        return last_id, []

    async def _follow(self, queue: Queue, sent: int) -> AsyncIterator[Frame]:
        loop = asyncio.get_running_loop()
        end = loop.time() + self.timing.lifetime
        while not self._closing and (left := end - loop.time()) > 0:
            try:
                item = await asyncio.wait_for(queue.get(), min(self.timing.heartbeat, left))
            except TimeoutError:
                yield HEARTBEAT
                continue
            if item is None:
                break
            if isinstance(item, str):
                yield frame("tick", item)
            elif item.id > sent:
                sent = item.id
                yield frame(item.type, item.ref, item.id)
        yield frame("reconnect", "")

    def _start(self, last_id: int) -> None:
        if self._task is None or self._task.done():
            self._last_id = last_id
            self._task = asyncio.create_task(self._poll(), name="event reader")

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _poll(self) -> None:
        """Read and tell, for as long as anybody listens; a database that does not answer is asked again."""
        written: dict[str, datetime | None] | None = None
        while True:
            try:
                news = await _in_thread(self._source.news, self._last_id, self._snapshots)
            except Unavailable as error:
                log.warning("events cannot be read", error=str(error))
            else:
                for event in news.events:
                    self._last_id = event.id
                    self._tell(event)
                for name, at in news.snapshots.items():
                    if written is not None and at is not None and at != written[name]:
                        self._tell(name)
                written = news.snapshots
            await asyncio.sleep(self.timing.poll)

    def _tell(self, item: Event | str) -> None:
        for queue in self._readers:
            _offer(queue, item)


async def _in_thread(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    return await to_thread.run_sync(lambda: call(*args, **kwargs))


def _offer(queue: Queue, item: Event | str | None) -> None:
    """Hand over, or end a reader that does not read: its page reconnects and resumes by id."""
    try:
        queue.put_nowait(item)
    except asyncio.QueueFull:
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)
