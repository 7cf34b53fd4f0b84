"""The live stream: nothing is lost or doubled, pages resume, and nobody reads when nobody listens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from controlplane.api import stream
from controlplane.api.stream import EventSource, Hub, Timing, frame
from controlplane.kernel.errors import Unavailable
from controlplane.model.overview import OVERVIEW
from controlplane.model.records import Event
from controlplane.store import tables
from controlplane.store.database import Database

QUICK = Timing(poll=0.01, heartbeat=60, lifetime=60)


class Page:
    """One open page: frames as they arrive."""

    def __init__(self, frames: AsyncIterator[bytes]) -> None:
        self.frames = frames

    async def next(self) -> str:
        return (await asyncio.wait_for(anext(self.frames), 20)).decode()

    async def event(self) -> tuple[int | None, str, str]:
        """Return (id, type, ref) of the next frame that is an event."""
        while True:
            text = await self.next()
            data = [line for line in text.splitlines() if line.startswith("data: ")]
            if data:
                body = json.loads(data[0].removeprefix("data: "))
                return body["id"], body["type"], body["ref"]


def emit(database: Database, *refs: str) -> None:
    with database.transaction() as tx:
        for ref in refs:
            tx.emit("run", ref)


def hub_of(database: Database, timing: Timing = QUICK) -> Hub:
    return Hub(EventSource(database), (OVERVIEW,), timing)


async def opened(hub: Hub, last_id: int | None) -> Page:
    """Open a page, and wait until it is registered."""
    page = Page(hub.stream(last_id))
    assert (await page.next()).startswith("retry:")
    return page


class Watched(EventSource):
    """Counts the pages that have read all of their backlog."""

    caught_up = 0

    def after(self, last_id: int, limit: int) -> Any:
        found = super().after(last_id, limit)
        Watched.caught_up += not found
        return found


async def following(page: Page) -> asyncio.Task[tuple[int | None, str, str]]:
    """Return the page's next event to come, once its backlog is read. Its hub's source is `Watched`."""
    before = Watched.caught_up
    waiting = asyncio.create_task(page.event())
    while Watched.caught_up == before:  # noqa: ASYNC110 - counted in a thread
        await asyncio.sleep(0.005)
    return waiting


def run(story: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(_story(story))


async def _story(story: Callable[[], Awaitable[None]]) -> None:
    await story()


def test_a_page_hears_of_each_change_once_and_in_order(database: Database) -> None:
    async def story() -> None:
        hub = hub_of(database)
        emit(database, "before")
        page = await opened(hub, None)
        emit(database, "a", "b")
        assert [await page.event(), await page.event()] == [(2, "run", "a"), (3, "run", "b")]
        emit(database, "c")
        assert await page.event() == (4, "run", "c")

    run(story)


def test_a_page_resumes_after_the_last_it_heard(database: Database) -> None:
    async def story() -> None:
        emit(database, "a", "b", "c")
        page = await opened(hub_of(database), 1)
        assert [await page.event(), await page.event()] == [(2, "run", "b"), (3, "run", "c")]
        emit(database, "d")
        assert await page.event() == (4, "run", "d")

    run(story)


def test_a_long_backlog_is_told_whole(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "PAGE", 2)

    async def story() -> None:
        emit(database, *"abcdefg")
        page = await opened(hub_of(database), 1)
        assert [(await page.event())[2] for _ in range(6)] == list("bcdefg")

    run(story)


def test_two_pages_hear_the_same_and_share_one_reader(database: Database) -> None:
    async def story() -> None:
        hub = hub_of(database)
        pages = [await opened(hub, None), await opened(hub, None)]
        assert hub.open_streams == 2
        emit(database, "a")
        assert [await page.event() for page in pages] == [(1, "run", "a")] * 2
        readers = [task for task in asyncio.all_tasks() if task.get_name() == "event reader"]
        assert len(readers) == 1

    run(story)


@pytest.mark.parametrize("last_id", [1, 999])
def test_a_page_that_missed_what_is_no_longer_kept_starts_anew(database: Database, last_id: int) -> None:
    async def story() -> None:
        emit(database, "a", "b", "c", "d")
        with database.transaction() as tx:
            tx.write(tables.events.delete().where(tables.events.c.id <= 2))
        page = await opened(hub_of(database), last_id)
        assert await page.event() == (4, "reset", "")
        emit(database, "e")
        assert await page.event() == (5, "run", "e")

    run(story)


def test_a_new_snapshot_is_a_tick_without_an_id(database: Database) -> None:
    async def story() -> None:
        hub = hub_of(database)
        page = await opened(hub, None)
        with database.transaction() as tx:
            tx.snapshots.put(OVERVIEW, {}, service="chat")
        first = asyncio.create_task(page.event())
        for _ in range(100):
            await asyncio.sleep(0.01)
            if first.done():
                break
            database.clock.sleep(2)
            with database.transaction() as tx:
                tx.snapshots.put(OVERVIEW, {}, service="chat")
        assert await first == (None, "tick", OVERVIEW)

    run(story)


def test_silence_is_broken_by_a_heartbeat(database: Database) -> None:
    async def story() -> None:
        page = await opened(hub_of(database, Timing(poll=0.01, heartbeat=0.02, lifetime=5)), None)
        assert await page.next() == ": still here\n\n"

    run(story)


def test_a_stream_ends_with_a_request_to_reconnect(database: Database) -> None:
    async def story() -> None:
        page = await opened(hub_of(database, Timing(poll=0.01, heartbeat=5, lifetime=0.05)), None)
        assert (await page.event())[1] == "reconnect"
        with pytest.raises(StopAsyncIteration):
            await page.next()

    run(story)


def test_closing_ends_every_stream_at_once(database: Database) -> None:
    async def story() -> None:
        hub = hub_of(database)
        pages = [await opened(hub, None), await opened(hub, None)]
        hub.close()
        assert [(await page.event())[1] for page in pages] == ["reconnect", "reconnect"]

    run(story)


def test_nothing_is_read_while_nobody_listens(database: Database) -> None:
    async def story() -> None:
        hub = hub_of(database)
        frames = hub.stream(None)
        await anext(frames)
        await frames.aclose()  # type: ignore[attr-defined]
        await asyncio.sleep(0)
        assert hub.open_streams == 0
        assert [task for task in asyncio.all_tasks() if task.get_name() == "event reader"] == []

    run(story)


def test_a_page_that_does_not_read_is_ended_and_resumes(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "QUEUE_LIMIT", 3)

    async def story() -> None:
        hub = Hub(Watched(database), (OVERVIEW,), QUICK)
        slow = await opened(hub, None)
        quick = await opened(hub, None)
        first, other = await following(slow), await following(quick)
        emit(database, "a")
        await other  # from here on it too hears from the queue, and no event before the slow page was told
        heard = (await first)[0]
        for ref in "bcdefg":
            emit(database, ref)
            await quick.event()
        assert (await slow.event())[1] == "reconnect"
        resumed = await opened(hub, heard)
        assert [(await resumed.event())[2] for _ in range(6)] == list("bcdefg")

    run(story)


class Failing(Watched):
    """A database that does not answer for a while."""

    failures = 0

    def news(self, last_id: int, snapshots: Any) -> Any:
        if self.failures > 0:
            Failing.failures -= 1
            raise Unavailable("the database does not answer")
        return super().news(last_id, snapshots)


def test_the_reader_outlives_a_database_that_does_not_answer(database: Database) -> None:
    async def story() -> None:
        Failing.failures = 20
        page = await opened(Hub(Failing(database), (OVERVIEW,), QUICK), None)
        waiting = await following(page)
        emit(database, "a")
        assert await waiting == (1, "run", "a")
        assert Failing.failures == 0

    run(story)


@pytest.mark.parametrize("wrong", ["abc", "-1", "1.5"])
def test_an_id_that_is_none_is_refused(client: TestClient, wrong: str) -> None:
    answer = client.get("/api/v1/events", headers={"Last-Event-ID": wrong})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")


@given(st.text(min_size=1), st.text(), st.none() | st.integers(0))
def test_a_frame_is_one_event_whatever_it_carries(type_: str, ref: str, id_: int | None) -> None:
    text = frame("run", type_ + ref, id_).decode()
    lines = text.split("\n")
    data = [line for line in lines if line.startswith("data: ")]
    assert len(data) == 1
    assert json.loads(data[0].removeprefix("data: ")) == {"id": id_, "type": "run", "ref": type_ + ref}
    assert text.endswith("\n\n")
    assert text.count("\n\n") == 1


def test_events_are_thin() -> None:
    assert set(json.loads(frame("run", "x", 1).decode().splitlines()[2].removeprefix("data: "))) == {
        "id", "type", "ref",
    }  # fmt: skip
    assert set(Event.model_fields) == {"id", "at", "type", "ref"}
