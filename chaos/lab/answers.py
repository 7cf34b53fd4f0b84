"""What the lab's engines answer: text that anyone who knows the prompt can check.

The engines and those who judge them (traffic, canaries) call the same functions, so an
answer is right exactly when it equals what stands here. There is no language model: a
token is a whitespace-separated word, and the words of an answer are drawn from a fixed
vocabulary by a digest of the prompt. A prompt that asks for a sum (``17+25``) gets the
sum as its first token, which makes it a canary with a known answer.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable
from functools import lru_cache

_SYLLABLES = ("ba", "co", "di", "fu", "ka", "le", "mi", "no", "pa", "re", "si", "to", "va", "we", "zu", "ly")
_WORDS = tuple(f" {first}{second}" for first in _SYLLABLES for second in _SYLLABLES)
# Bounded digits: an answer's size must not depend on how long a number a prompt contains.
_NUMBER = r"\d{1,15}"
_SUM = re.compile(rf"(?<![\d.]){_NUMBER}(?:\s*\+\s*{_NUMBER})+(?!\d|\.\d)")
_SHORTEST, _LONGEST = 20, 180


def chat_prompt(contents: Iterable[str]) -> str:
    """Return the prompt of a chat: the messages' texts in order, a line each.

    Roles add nothing, so the prompt of a single message is that message's text, and a
    later turn of a conversation begins with the whole earlier one (prefix cache).
    """
    return "\n".join(contents)


def prompt_tokens(prompt: str) -> list[str]:
    """Return the prompt's tokens: its whitespace-separated words."""
    return prompt.split()


def natural_length(prompt: str) -> int:
    """Return how many tokens the answer has when nobody limits it: 20 to 180, 100 on average."""
    return random.Random(_seed(prompt) + 1).randint(_SHORTEST, _LONGEST)


def answer_tokens(prompt: str, count: int) -> list[str]:
    """Return the first ``count`` tokens of the answer to ``prompt``; joined they are its text.

    Shorter answers are prefixes of longer ones. Every token but the first begins with a
    space. When the prompt contains an addition, the first token is the sum of the last one.
    """
    if count <= 0:
        return []
    tokens = random.Random(_seed(prompt)).choices(_WORDS, k=count)
    tokens[0] = known_answer(prompt) or tokens[0].lstrip()
    return tokens


def answer_text(prompt: str, count: int) -> str:
    """Return the text of an answer of ``count`` tokens."""
    return "".join(answer_tokens(prompt, count))


def known_answer(prompt: str) -> str | None:
    """Return the sum that the prompt asks for last, or None when it contains no addition."""
    sums = _SUM.findall(prompt)
    return str(sum(int(part) for part in sums[-1].split("+"))) if sums else None


@lru_cache(maxsize=256)
def _seed(prompt: str) -> int:
    return int.from_bytes(hashlib.blake2b(prompt.encode(errors="surrogatepass"), digest_size=8).digest())
