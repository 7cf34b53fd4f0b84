"""One request inside the engine: its tokens, how many of them are cached, and when things happened to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class FinishReason(StrEnum):
    """Why a request ended, in vLLM's words."""

    STOP = "stop"
    LENGTH = "length"
    ABORT = "abort"


@dataclass(slots=True, eq=False)
class Request:
    """What is asked for, and how far it has come. Times are seconds of the engine's clock.

    ``answer`` holds every token that will be generated: the model decides when they come,
    not what they are. ``ending`` is the reason given with the last of them. ``token_gap`` is
    the time between the last two tokens, ``cached`` the prompt tokens found in the prefix
    cache on first admission.
    """

    id: str
    prompt: Sequence[str]
    answer: Sequence[str]
    ending: FinishReason
    arrived_at: float
    max_tokens: int | None = None
    emitted: int = 0
    computed: int = 0
    cached: int = 0
    blocks: list[int] = field(default_factory=list)
    hashes: list[int] = field(default_factory=list)
    scheduled_at: float | None = None
    first_token_at: float | None = None
    last_token_at: float | None = None
    token_gap: float = 0.0
    preemptions: int = 0
    aborting: bool = False
    finish_reason: FinishReason | None = None

    @property
    def length(self) -> int:
        """Tokens of prompt and answer that exist by now."""
        return len(self.prompt) + self.emitted

    def hash_blocks(self, block_size: int) -> list[int]:
        """Return the chained content hash of every full block of the tokens that exist by now.

        Python's own hash serves: it need only be equal for equal tokens within one process.
        """
        start = len(self.hashes) * block_size
        while start + block_size <= self.length:
            parent = self.hashes[-1] if self.hashes else 0
            self.hashes.append(hash((parent, self._tokens(start, start + block_size))))
            start += block_size
        return self.hashes

    def _tokens(self, start: int, end: int) -> tuple[str, ...]:
        prompt = len(self.prompt)
        answer = (token.strip() for token in self.answer[max(0, start - prompt) : max(0, end - prompt)])
        return (*self.prompt[start:end], *answer)
