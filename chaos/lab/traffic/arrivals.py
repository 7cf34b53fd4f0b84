"""When requests arrive and how long they are: a synthetic day, or a recorded trace.

A plan is a function of the seed and the time since its start, nothing else: it is made in blocks
of a minute, each from its own random stream, so that any range can be asked for without making
what lies before it, and two runs with one seed get the same arrivals, lengths and order.

The day is a Poisson process with a rate that rises and falls over 24 hours. It begins where the
rate is at its mean and rising, so that the first hours are at or above the mean: 12.5 requests/s
of 100 output tokens are 1,250 tokens/s, well above the thousand that a lab is said to carry.
"""

from __future__ import annotations

import csv
import math
import random
from bisect import bisect_left
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from controlplane.kernel.errors import InvalidInput

BLOCK = 60.0
"""Seconds of plan made at a time."""

DAY = 86_400.0
"""Seconds."""

LONGEST_PROMPT, LONGEST_OUTPUT = 8_000, 1_000
"""Tokens; a trace's longer ones are cut, so that a request fits the engine and its time-out."""

_SWING, _EVENING = 0.20, 0.05  # parts of the mean: highest 1.21, lowest 0.79 times the mean
_OUTPUT_SPREAD = 0.7  # sigma of the lognormal; a coefficient of variation of 0.8, as chats have
_PROMPT_MEAN, _PROMPT_SPREAD, _PROMPT_SHORTEST = 300.0, 0.7, 24


class Arrival(NamedTuple):
    """One planned request: ``at`` in seconds since the plan's start, lengths in tokens."""

    at: float
    prompt_tokens: int
    output_tokens: int


Source = Callable[[int], list[Arrival]]
"""Returns the arrivals of block ``i``, in order, all within [60 i, 60 (i + 1)) seconds."""


class Plan:
    """All arrivals, from the start for ever."""

    def __init__(self, source: Source) -> None:
        self.block = lru_cache(maxsize=64)(source)

    def __iter__(self) -> Iterator[Arrival]:
        return self.starting(0.0)

    def starting(self, at: float) -> Iterator[Arrival]:
        """All arrivals from ``at`` on, seconds since the plan's start."""
        index = int(at // BLOCK)
        while True:
            yield from (arrival for arrival in self.block(index) if arrival.at >= at)
            index += 1

    def count(self, start: float, end: float) -> tuple[int, int]:
        """Requests and output tokens planned in [start, end), seconds since the plan's start."""
        start = max(0.0, start)
        if end <= start:
            return 0, 0
        blocks = range(int(start // BLOCK), math.ceil(end / BLOCK))
        chosen = [arrival for index in blocks for arrival in self.block(index) if start <= arrival.at < end]
        return len(chosen), sum(arrival.output_tokens for arrival in chosen)


def day_rate(seconds: float, mean: float) -> float:
    """Arrivals per second at a time of the synthetic day; over 24 h they average ``mean``."""
    phase = 2 * math.pi * seconds / DAY
    return mean * (1 + _SWING * math.sin(phase) + _EVENING * math.sin(2 * phase))


def synthetic_day(seed: int, rate: float, output_tokens: float) -> Plan:
    """A day with ``rate`` arrivals per second and ``output_tokens`` per request on average."""
    highest = rate * (1 + _SWING + _EVENING)

    def block(index: int) -> list[Arrival]:
        stream = random.Random(f"{seed}/arrivals/{index}")
        arrivals = []
        at = index * BLOCK + stream.expovariate(highest)
        while at < (index + 1) * BLOCK:
            # Thinning: candidates at the highest rate, kept with the probability rate/highest.
            if stream.random() * highest < day_rate(at, rate):
                output = _lognormal(stream, output_tokens, _OUTPUT_SPREAD, 4, LONGEST_OUTPUT)
                prompt = _lognormal(stream, _PROMPT_MEAN, _PROMPT_SPREAD, _PROMPT_SHORTEST, LONGEST_PROMPT)
                arrivals.append(Arrival(at, prompt, output))
            at += stream.expovariate(highest)
        return arrivals

    return Plan(block)


def azure_trace(path: Path, rate_factor: float) -> Plan:
    """Replay an Azure LLM trace (TIMESTAMP, ContextTokens, GeneratedTokens), again and again.

    ``rate_factor`` 2.0 plays it twice as fast. Raises InvalidInput for a file that is no trace.
    """
    recorded = _read_trace(path)
    length = (recorded[-1].at + recorded[-1].at / len(recorded)) / rate_factor
    once = [arrival._replace(at=arrival.at / rate_factor) for arrival in recorded]
    times = [arrival.at for arrival in once]

    def block(index: int) -> list[Arrival]:
        start, end = index * BLOCK, (index + 1) * BLOCK
        arrivals = []
        for lap in range(int(start // length), int(end // length) + 1):
            first = bisect_left(times, start - lap * length)
            last = bisect_left(times, end - lap * length)
            arrivals += [arrival._replace(at=arrival.at + lap * length) for arrival in once[first:last]]
        return arrivals

    return Plan(block)


def _lognormal(stream: random.Random, mean: float, spread: float, low: int, high: int) -> int:
    drawn = stream.lognormvariate(math.log(mean) - spread**2 / 2, spread)
    return min(high, max(low, round(drawn)))


def _read_trace(path: Path) -> list[Arrival]:
    try:
        with path.open(newline="") as file:
            rows = [
                (
                    datetime.fromisoformat(row["TIMESTAMP"][:26]),
                    min(LONGEST_PROMPT, max(_PROMPT_SHORTEST, int(row["ContextTokens"]))),
                    min(LONGEST_OUTPUT, max(1, int(row["GeneratedTokens"]))),
                )
                for row in csv.DictReader(file)
            ]
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise InvalidInput(
            f"{path} is not an Azure LLM trace: {error}",
            hint="columns TIMESTAMP, ContextTokens, GeneratedTokens",
        ) from error
    rows.sort()
    if len(rows) < 2 or rows[-1][0] == rows[0][0]:
        raise InvalidInput(f"{path} has no time span: {len(rows)} rows")
    begin = rows[0][0]
    return [Arrival((moment - begin).total_seconds(), prompt, output) for moment, prompt, output in rows]
