"""The block pool lends only what it has, and remembers what was freed until it needs the room."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chaos.lab.engine.blocks import BlockPool


def test_a_freed_prefix_is_found_again() -> None:
    pool = BlockPool(4, caching=True)
    blocks = pool.take((), 2) or []
    pool.seal(blocks[0], 11)
    pool.release(blocks)
    assert pool.match([11, 12]) == [blocks[0]]


def test_a_held_prefix_is_shared() -> None:
    pool = BlockPool(2, caching=True)
    first = pool.take((), 1) or []
    pool.seal(first[0], 11)
    assert pool.take(pool.match([11]), 1) == [first[0], 1]
    assert pool.used == 2


def test_too_much_takes_nothing() -> None:
    pool = BlockPool(3, caching=True)
    assert pool.take((), 4) is None
    assert pool.used == 0


def test_a_cached_block_counts_as_room_that_its_taker_uses_up() -> None:
    pool = BlockPool(2, caching=True)
    blocks = pool.take((), 1) or []
    pool.seal(blocks[0], 11)
    pool.release(blocks)
    assert pool.take(pool.match([11]), 2) is None


def test_blocks_without_content_go_before_cached_ones_and_a_tail_before_its_beginning() -> None:
    pool = BlockPool(3, caching=True)
    blocks = pool.take((), 3) or []
    pool.seal(blocks[0], 11)
    pool.seal(blocks[1], 12)
    pool.release(blocks)
    pool.take((), 1)
    assert pool.match([11, 12]) == blocks[:2]
    pool.take((), 1)
    assert pool.match([11, 12]) == blocks[:1]


def test_without_caching_nothing_is_found() -> None:
    pool = BlockPool(2, caching=False)
    blocks = pool.take((), 1) or []
    pool.seal(blocks[0], 11)
    assert pool.match([11]) == []


class Pool(RuleBasedStateMachine):
    """Any order of taking, sealing and releasing keeps the books."""

    CAPACITY = 6

    def __init__(self) -> None:
        super().__init__()
        self.pool = BlockPool(self.CAPACITY, caching=True)
        self.held: list[list[int]] = []

    @rule(contents=st.lists(st.integers(0, 3), max_size=3, unique=True), fresh=st.integers(0, 4))
    def take(self, contents: list[int], fresh: int) -> None:
        cached = self.pool.match(contents)
        blocks = self.pool.take(cached, fresh)
        if blocks is None:
            assert fresh > self.CAPACITY - self.pool.used - len(cached)
        else:
            assert len(blocks) == len(set(blocks)) == len(cached) + fresh
            self.held.append(blocks)

    @precondition(lambda self: any(self.held))
    @rule(data=st.data(), content=st.integers(0, 3))
    def seal(self, data: st.DataObject, content: int) -> None:
        self.pool.seal(data.draw(st.sampled_from([b for blocks in self.held for b in blocks])), content)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        self.pool.release(self.held.pop(data.draw(st.integers(0, len(self.held) - 1))))

    @invariant()
    def used_is_what_is_held(self) -> None:
        assert self.pool.used == len({block for blocks in self.held for block in blocks})

    def teardown(self) -> None:
        for blocks in self.held:
            self.pool.release(blocks)
        assert self.pool.used == 0
        assert self.pool.take((), self.CAPACITY) is not None


Pool.TestCase.settings = settings(max_examples=20, stateful_step_count=20)
TestPool = Pool.TestCase
