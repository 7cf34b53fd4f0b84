"""More users than planned, for a while: arrivals beside the plan, as many times as many, of one tier or any.

In each minute of a surge arrive ``factor - 1`` times as many requests as the plan has in it, of the
lengths that the plan has, at times drawn from seed and surge alone. So a surge can be counted as the
plan can. It has an end of its own, and only what carries its id takes it back before.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from pydantic import AwareDatetime, Field

from chaos.lab.traffic.arrivals import BLOCK, Arrival, Plan
from controlplane.model.base import Model, Name


class SurgeSpec(Model):
    """The body of ``PUT /faults/{id}`` at the traffic generator's socket."""

    factor: float = Field(gt=1.0, le=10.0, description="times the planned arrivals, those included")
    tier: Name | None = Field(default=None, description="tier of the clients that come; null: by the mix")
    expires_at: AwareDatetime


class Surge:
    """One surge: extra arrivals from ``begin`` until ``end``, seconds since the plan's start."""

    def __init__(
        self, identifier: str, spec: SurgeSpec, plan: Plan, seed: int, begin: float, end: float
    ) -> None:
        self.id = identifier
        self.spec = spec
        self.begin, self.end = begin, end
        self.sent = 0
        share = spec.factor - 1
        self._plan = Plan(
            lambda index: _extra(plan.block(index), share, f"{seed}/surge/{identifier}/{index}", index)
        )

    def __iter__(self) -> Iterator[Arrival]:
        """The arrivals from the beginning to the end as it stands when they are asked for."""
        for arrival in self._plan.starting(self.begin):
            if arrival.at >= self.end:
                return
            yield arrival

    def count(self, start: float, end: float) -> tuple[int, int]:
        """Requests and output tokens of the surge in [start, end), seconds since the plan's start."""
        return self._plan.count(max(start, self.begin), min(end, self.end))


def _extra(planned: list[Arrival], share: float, seed: str, index: int) -> list[Arrival]:
    stream = random.Random(seed)
    copies = [
        arrival._replace(at=(index + stream.random()) * BLOCK)
        for arrival in planned
        for _ in range(int(share) + (stream.random() < share % 1))
    ]
    return sorted(copies)
