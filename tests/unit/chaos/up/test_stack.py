"""The control plane's processes are kept alive with a back-off, and ended whoever remembers them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from chaos.lab.processes import Kind, Owner, ProcessRecord, ProcessTable
from chaos.up.stack import MAX_BACKOFF, SETTLED, Stack, end_leftovers
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import NotFound, Unavailable


class MemoryTable(ProcessTable):
    """A process table without processes: a name lives or it does not."""

    def __init__(self, state_dir: Path) -> None:
        super().__init__(state_dir)
        self.known: dict[str, ProcessRecord] = {}
        self.living: set[str] = set()
        self.ended: list[str] = []
        self.refuses = False

    def records(self) -> list[ProcessRecord]:
        return list(self.known.values())

    def get(self, name: str) -> ProcessRecord:
        if name not in self.known:
            raise NotFound(name)
        return self.known[name]

    def is_alive(self, record: ProcessRecord) -> bool:
        return record.name in self.living

    def spawn(
        self,
        name: str,
        argv: Sequence[str],
        *,
        kind: Kind,
        owner: Owner,
        env: Mapping[str, str] | None = None,
        zone: str | None = None,
        node: str | None = None,
    ) -> ProcessRecord:
        if self.refuses:
            raise Unavailable("no memory")
        self.known[name] = ProcessRecord(
            name=name,
            kind=kind,
            owner=owner,
            pid=1,
            start_time=0,
            argv=tuple(argv),
            cwd="/",
            env=dict(env or {}),
        )
        self.living.add(name)
        return self.known[name]

    def terminate(self, names: Iterable[str], grace: float) -> list[str]:
        for name in names:
            self.ended.append(name)
            self.known.pop(name)
            self.living.discard(name)
        return []


@pytest.fixture
def table(tmp_path: Path) -> MemoryTable:
    return MemoryTable(tmp_path)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def stack(table: MemoryTable, clock: VirtualClock) -> Stack:
    stack = Stack(table, clock, api_port=8700, redis_port=6379)
    stack.start_api()
    return stack


def ended(table: MemoryTable, wait: str) -> list[str]:
    """What is said of an API that has died."""
    return [f"api has ended; starting it again in {wait} s (see {table.log_path('api')})"]


def test_what_lives_is_left_alone(stack: Stack) -> None:
    assert stack.tend() == []


def test_what_has_died_is_started_again_after_a_while(
    stack: Stack, table: MemoryTable, clock: VirtualClock
) -> None:
    table.living.clear()
    assert stack.tend() == ended(table, "0.5")
    clock.advance(0.4)
    assert stack.tend() == []
    clock.advance(0.1)
    assert stack.tend() == ["api started again (1)"]
    assert table.living == {"api"}


def test_the_while_doubles_up_to_half_a_minute_and_is_forgotten_once_it_lives(
    stack: Stack, table: MemoryTable, clock: VirtualClock
) -> None:
    waits = []
    for _ in range(8):
        table.living.clear()
        (said,) = stack.tend()
        waits.append(float(said.split(" in ")[1].split()[0]))
        clock.advance(waits[-1])
        stack.tend()
    assert waits == [0.5, 1, 2, 4, 8, 16, MAX_BACKOFF, MAX_BACKOFF]
    clock.advance(SETTLED + 1)
    stack.tend()
    table.living.clear()
    assert stack.tend() == ended(table, "0.5")


def test_what_cannot_be_started_again_now_is_tried_later(
    stack: Stack, table: MemoryTable, clock: VirtualClock
) -> None:
    table.living.clear()
    table.refuses = True
    stack.tend()
    clock.advance(0.5)
    assert stack.tend() == ["api cannot be started again now: no memory"]
    assert stack.tend() == ended(table, "1")
    table.refuses = False
    clock.advance(1)
    assert stack.tend() == ["api started again (1)"]


def test_redis_is_ended_last_and_the_lab_not_at_all(stack: Stack, table: MemoryTable) -> None:
    table.spawn("envoy", ("envoy",), kind="envoy", owner="lab")
    redis = table.spawn("redis", ("redis-server",), kind="redis", owner="fleetward")
    table.known = {"redis": redis, **table.known}
    stack.stop()
    assert table.ended == ["api", "redis"]
    assert set(table.known) == {"envoy"}
    assert stack.tend() == []


def test_a_start_that_was_cut_short_is_ended_too(table: MemoryTable, clock: VirtualClock) -> None:
    table.spawn("worker", ("python",), kind="worker", owner="fleetward")
    Stack(table, clock, api_port=8700, redis_port=6379).stop()
    assert table.known == {}


def test_leftovers_are_named_when_they_live(table: MemoryTable) -> None:
    for kind in ("api", "worker"):
        table.spawn(kind, ("python",), kind=kind, owner="fleetward")
    table.living.discard("api")
    assert end_leftovers(table) == ["worker"]
    assert table.known == {}
