"""What known questions, asked of each replica, say: history per replica, verdicts for every target.

Pure bookkeeping on given times (unix seconds). A probe that is overdue fails from the
moment it is overdue, not when its time-out ends. One slow answer is noted, and is a verdict
only when the next one is slow as well; anything worse than slow is one at once. It refuses
to call good what has not answered.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from controlplane.model.service import ServiceSpec
from controlplane.model.signals import CanaryState
from controlplane.model.target import Target

Kind = Literal["right", "slow", "wrong", "refused", "error", "timeout"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One finished probe. ``ttft`` and ``tpot`` in seconds; ``tokens`` as counted from the stream."""

    started: float
    ended: float
    kind: Kind
    ttft: float | None = None
    tpot: float | None = None
    tokens: int = 0
    detail: str = ""


@dataclass(slots=True)
class _History:
    answers: deque[Answer] = field(default_factory=lambda: deque(maxlen=16))
    asked_at: float | None = None
    first_token_at: float | None = None
    good_since: float | None = None
    tokens: int = 0
    aborts: int = 0


@dataclass(frozen=True, slots=True)
class ReplicaVerdict:
    """One replica now.

    ``failing``: its latest evidence is bad in any way; ``overdue``: it does not answer, and
    has not since ``waiting_since``.
    """

    good: bool | None
    failing: bool
    overdue: bool
    good_for: float
    ttft: float | None = None
    tpot: float | None = None
    detail: str = ""
    waiting_since: float | None = None


class ProbeBook:
    """Histories of one service's replicas. Safe between threads: the prober writes, the loop reads."""

    def __init__(self, spec: ServiceSpec) -> None:
        self._spec = spec
        self._stale_after = 3 * spec.canary.every + spec.canary.timeout
        self._histories: dict[Target, _History] = {}
        self._lock = threading.Lock()

    def judge(self, ttft: float | None, tpot: float | None, *, right: bool) -> Kind:
        """Say what a complete answer is worth against the service's objectives."""
        if not right:
            return "wrong"
        limits = self._spec.effective
        slow = (ttft or 0.0) > limits.ttft or (tpot or 0.0) > limits.tpot
        return "slow" if slow else "right"

    def asked(self, target: Target, at: float) -> None:
        """Note that a question was sent."""
        with self._lock:
            history = self._histories.setdefault(target, _History())
            history.asked_at, history.first_token_at = at, None

    def first_token(self, target: Target, at: float) -> None:
        """Note that the answer has begun."""
        with self._lock:
            if target in self._histories:
                self._histories[target].first_token_at = at

    def abandoned(self, target: Target) -> None:
        """Note that nobody waits for the answer any more: it says nothing."""
        with self._lock:
            if target in self._histories:
                self._histories[target].asked_at = None

    def answered(self, target: Target, answer: Answer) -> None:
        """Note how a probe ended."""
        with self._lock:
            history = self._histories.setdefault(target, _History())
            history.answers.append(answer)
            history.asked_at = None
            history.tokens += answer.tokens
            history.aborts += answer.kind == "timeout"
            if not self._is_good(history):
                history.good_since = None
            elif history.good_since is None:
                history.good_since = answer.ended

    def cost(self) -> dict[Target, tuple[int, int]]:
        """Return by replica how many output tokens the questions took so far, and how many were given up."""
        with self._lock:
            return {target: (each.tokens, each.aborts) for target, each in self._histories.items()}

    def replica(self, target: Target, now: float) -> ReplicaVerdict:
        """Return the verdict on one replica at ``now``."""
        with self._lock:
            history = self._histories.get(target)
            if history is None:
                return ReplicaVerdict(None, failing=False, overdue=False, good_for=0.0, detail="never asked")
            late = self._overdue(history, now)
            if late is not None:
                history.good_since = None
                text = f"no {'first token' if history.first_token_at is None else 'end'} after {late:.1f} s"
                return ReplicaVerdict(
                    good=False,
                    failing=True,
                    overdue=True,
                    good_for=0.0,
                    detail=text,
                    waiting_since=history.asked_at,
                )
            return self._settled(history, now)

    def states(
        self, replicas: Sequence[Target], now: datetime, isolated: Collection[Target] = ()
    ) -> dict[str, CanaryState]:
        """Return the state of each replica and of every wider target, by text form.

        A wider target is good when all its replicas in rotation are, and they are at least half of it:
        one that is ``isolated`` gets no clients, and neither speaks for its zone nor against it.
        """
        verdicts = {target: self.replica(target, now.timestamp()) for target in replicas}
        wider: dict[Target, dict[Target, ReplicaVerdict]] = {}
        sizes: dict[Target, int] = {}
        for target, verdict in verdicts.items():
            step: Target | None = target
            while step is not None:
                sizes[step] = sizes.get(step, 0) + 1
                if step == target or target not in isolated:
                    wider.setdefault(step, {})[target] = verdict
                step = step.parent()
        return {str(target): _state(wider.get(target, {}), size, now) for target, size in sizes.items()}

    def failing(self, replicas: Sequence[Target], now: float) -> dict[Target, bool]:
        """Return for each replica that was ever asked whether its latest evidence is bad."""
        verdicts = {target: self.replica(target, now) for target in replicas}
        return {target: verdict.failing for target, verdict in verdicts.items() if verdict.good is not None}

    def _overdue(self, history: _History, now: float) -> float | None:
        if history.asked_at is None:
            return None
        waited = now - history.asked_at
        limit = self._spec.canary.timeout
        if history.first_token_at is None:
            limit = min(limit, self._spec.effective.ttft)
        return waited if waited > limit else None

    def _is_good(self, history: _History) -> bool:
        recent = [answer.kind for answer in list(history.answers)[-2:]]
        return bool(recent) and recent[-1] in {"right", "slow"} and recent != ["slow", "slow"]

    def _settled(self, history: _History, now: float) -> ReplicaVerdict:
        if not history.answers:
            return ReplicaVerdict(None, failing=False, overdue=False, good_for=0.0, detail="asked")
        last = history.answers[-1]
        if now - last.ended > self._stale_after:
            text = f"last asked {now - last.started:.0f} s ago"
            return ReplicaVerdict(None, failing=False, overdue=False, good_for=0.0, detail=text)
        good = self._is_good(history)
        since = history.good_since
        if good and since is None:
            since = history.good_since = last.ended
        return ReplicaVerdict(
            good=good,
            failing=last.kind != "right",
            overdue=last.kind == "timeout",
            good_for=max(0.0, now - since) if good and since is not None else 0.0,
            ttft=last.ttft,
            tpot=last.tpot,
            detail=last.detail or last.kind,
            waiting_since=last.started if last.kind == "timeout" else None,
        )


def _state(parts: Mapping[Target, ReplicaVerdict], size: int, now: datetime) -> CanaryState:
    """Sum up the replicas in rotation of a target that has ``size`` of them."""
    verdicts = list(parts.values())
    goods = [verdict.good for verdict in verdicts]
    good = False if False in goods else None if None in goods or 2 * len(parts) < size else True
    ttfts = [verdict.ttft for verdict in verdicts if verdict.ttft is not None]
    tpots = [verdict.tpot for verdict in verdicts if verdict.tpot is not None]
    bad = [f"{target.name}: {verdict.detail}" for target, verdict in parts.items() if not verdict.good]
    rest = f", {size - len(parts)} of {size} out of rotation" if len(parts) < size else ""
    return CanaryState(
        good=good,
        good_for=round(min((verdict.good_for for verdict in verdicts), default=0.0), 3) if good else 0.0,
        at=now,
        ttft=max(ttfts, default=None),
        tpot=max(tpots, default=None),
        detail=f"{len(verdicts) - len(bad)} of {len(verdicts)} good{rest}"
        + (f": {'; '.join(bad)}" if bad else ""),
        replicas={target.name: verdict.good for target, verdict in parts.items()},
    )
