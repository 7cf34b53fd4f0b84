"""The paged KV cache of one GPU: blocks with reference counts and a prefix cache over the free ones.

As in vLLM, a freed block keeps its contents until somebody needs the room, least recently
used first, so that a prompt with the same beginning finds it again. The pool refuses to
lend what it does not have: `take` is all or nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence


class BlockPool:
    """``capacity`` blocks; a block is an index, its content a hash chained over the tokens before it."""

    def __init__(self, capacity: int, *, caching: bool) -> None:
        self.capacity = capacity
        self._caching = caching
        self._references = [0] * capacity
        self._free: OrderedDict[int, None] = OrderedDict.fromkeys(range(capacity))
        self._block_of: dict[int, int] = {}
        self._hash_of: dict[int, int] = {}

    @property
    def used(self) -> int:
        """Blocks that some request holds."""
        return self.capacity - len(self._free)

    def match(self, hashes: Iterable[int]) -> list[int]:
        """Return the blocks of the longest cached beginning of ``hashes``, without taking them."""
        found = []
        for content in hashes:
            block = self._block_of.get(content)
            if block is None:
                break
            found.append(block)
        return found

    def take(self, cached: Sequence[int], fresh: int) -> list[int] | None:
        """Take the ``cached`` blocks and ``fresh`` empty ones; all, or None when that is too many."""
        idle = sum(1 for block in cached if self._references[block] == 0)
        if idle + fresh > len(self._free):
            return None
        for block in cached:
            if self._references[block] == 0:
                del self._free[block]
            self._references[block] += 1
        return [*cached, *(self._evict() for _ in range(fresh))]

    def seal(self, block: int, content: int) -> None:
        """Say that ``block`` is full and holds ``content``; of equal blocks the first is the one found."""
        if self._caching and content not in self._block_of and block not in self._hash_of:
            self._block_of[content] = block
            self._hash_of[block] = content

    def release(self, blocks: Sequence[int]) -> None:
        """Give blocks back; the tail of a sequence is the first to be evicted, its beginning the last."""
        for block in reversed(blocks):
            self._references[block] -= 1
            if self._references[block] == 0:
                self._free[block] = None
                if block not in self._hash_of:
                    self._free.move_to_end(block, last=False)

    def _evict(self) -> int:
        block, _ = self._free.popitem(last=False)
        content = self._hash_of.pop(block, None)
        if content is not None:
            del self._block_of[content]
        self._references[block] = 1
        return block
