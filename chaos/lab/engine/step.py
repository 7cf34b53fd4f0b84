"""One step of the engine: what is in the batch, how long it takes, what came out."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from chaos.lab.engine.request import Request
from chaos.lab.settings import EngineSettings

_JITTER_BOUND = 3.0  # standard deviations: a step never takes no time, nor for ever


@dataclass(slots=True)
class Batch:
    """What one step computes: (request, number of its tokens), with the sums its cost depends on."""

    work: list[tuple[Request, int]] = field(default_factory=list)
    prefill_tokens: int = 0
    kv_tokens: int = 0
    started_at: float = 0.0
    ends_at: float = 0.0

    def add(self, request: Request, tokens: int) -> None:
        """Put ``tokens`` of a request into the step."""
        self.work.append((request, tokens))
        self.kv_tokens += request.computed
        if tokens > 1 or request.emitted == 0:
            self.prefill_tokens += tokens


@dataclass(slots=True)
class StepReport:
    """What one step did. Token counts are those of this step alone.

    ``outputs`` are the requests that got one token each, ``finished`` those of them that
    ended with it, ``aborted`` those that were dropped before the step began. ``running``,
    ``waiting`` and ``kv_usage`` (0..1) describe the engine after the step.
    """

    outputs: list[Request] = field(default_factory=list)
    finished: list[Request] = field(default_factory=list)
    aborted: list[Request] = field(default_factory=list)
    prefill_tokens: int = 0
    prefix_queries: int = 0
    prefix_hits: int = 0
    preemptions: int = 0
    running: int = 0
    waiting: int = 0
    kv_usage: float = 0.0


def step_time(batch: Batch, settings: EngineSettings, rng: random.Random) -> float:
    """Return the seconds a batch takes on a healthy GPU; nothing to compute takes no time."""
    if not batch.work:
        return 0.0
    mean = (
        settings.step_base
        + settings.step_per_sequence * len(batch.work)
        + settings.step_per_prefill_token * batch.prefill_tokens
        + settings.step_per_kv_token * batch.kv_tokens
    )
    deviations = max(-_JITTER_BOUND, min(_JITTER_BOUND, rng.gauss(0.0, 1.0)))
    return mean * (1.0 + settings.step_jitter * deviations)
