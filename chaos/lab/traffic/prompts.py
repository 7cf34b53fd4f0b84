"""What requests say: text of an exact number of tokens that begins like some other requests'.

A few system prompts of different popularity stand before unique user text, so that the engines'
prefix caches have something to hit. All else in a prompt is a function of the seed and the request's index.
It asks nothing sensible; `chaos.lab.answers` knows the right answer to anything.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from chaos.lab import answers

SYSTEM_LENGTHS = (192, 96, 160, 64, 128, 48, 112, 80)
"""Tokens of the shared system prompts, the most popular first (popularity falls as 1/rank)."""

_SHARED_AT_MOST = 0.6  # part of a prompt that may be shared: short requests are cut short
_TEXT = (
    "time year people way day man thing woman life child world school state family student group country "
    "problem hand part place case week company system program question work government number night point "
    "home water room mother area money story fact month lot right study book eye job word business issue "
    "side kind head house service friend father power hour game line end member law car city community "
    "name president team minute idea body information back parent face others level"
)
_WORDS = tuple(_TEXT.split())


def _system_prompts() -> tuple[str, ...]:
    stream = random.Random("1/system")
    return tuple(" ".join(stream.choices(_WORDS, k=length)) for length in SYSTEM_LENGTHS)


SYSTEM_PROMPTS = _system_prompts()
"""The same in every lab, so that a Service can name them."""


class Prompt(NamedTuple):
    """A system and a user message."""

    system: str
    user: str

    def answer(self, tokens: int) -> str:
        """The one right answer of ``tokens`` tokens."""
        return answers.answer_text(answers.chat_prompt((self.system, self.user)), tokens)


class Prompts:
    """All prompts of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._systems = [text.split() for text in SYSTEM_PROMPTS]
        self._popularity = [1 / rank for rank in range(1, len(SYSTEM_LENGTHS) + 1)]

    def prompt(self, index: int, tokens: int) -> Prompt:
        """The prompt of request ``index``, exactly ``tokens`` (at least 2) tokens long."""
        stream = random.Random(f"{self.seed}/prompt/{index}")
        system = stream.choices(self._systems, self._popularity)[0]
        shared = system[: max(1, min(len(system), int(tokens * _SHARED_AT_MOST)))]
        user = [f"#{index}", *stream.choices(_WORDS, k=tokens - len(shared) - 1)]
        return Prompt(" ".join(shared), " ".join(user))
