"""What the loop measured at its last tick: the one source of verdicts for runs, guards and people.

The controller writes it each tick as the snapshot ``signals``; `SignalReader` is read from
it. A verdict carries the bounds of its samples, so that a verification can insist on
samples later than its last effect. It refuses to say healthy for what it cannot see.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from pydantic import Field

from controlplane.model.base import Model
from controlplane.model.target import Signal

SIGNALS = "signals"
"""The name of the snapshot that holds a `SignalsSnapshot`."""

SourceHealth = Literal["fresh", "stale", "lost"]


class SignalState(Model):
    """One signal at one tick; ``good`` None when there is no or too little data."""

    good: bool | None
    value: float | None = None
    objective: float
    samples: float = 0
    since: datetime
    until: datetime
    clients_good: bool | None = Field(None, description="the same verdict for the whole service")
    clients_value: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One signal at one tick. ``tiers`` fire now, fast first; ``accusers`` are the sources that say bad.

    ``hold``: seconds for which it must be bad before it counts (threshold triggers). ``event``: it has
    happened, and is not taken back when nothing is measured of it any more (a code of a card).
    """

    signal: Signal
    state: SignalState
    tiers: tuple[str, ...] = ()
    severity: str = "page"
    accusers: frozenset[str] = frozenset()
    blind: bool = False
    hold: float = 0.0
    event: bool = False

    @property
    def bad(self) -> bool:
        """Bad now: something fires, and the short window does not say that it is over."""
        return bool(self.tiers) and self.state.good is not True and not self.blind

    def as_bad(self, tiers: tuple[str, ...], severity: str, detail: str) -> Verdict:
        """Return it as bad for a reason that lies in its target's parts."""
        state = self.state.model_copy(update={"good": False, "detail": detail})
        return replace(self, state=state, tiers=tiers, severity=severity, blind=False)


class CanaryState(Model):
    """What known questions, asked past the weights, say of one target."""

    good: bool | None
    good_for: float = Field(0.0, description="seconds since it was last not good")
    at: datetime
    ttft: float | None = None
    tpot: float | None = None
    detail: str = ""
    replicas: dict[str, bool | None] = Field(default_factory=dict)


class SignalsSnapshot(Model):
    """Everything of one tick, keyed by the text forms of signals and targets."""

    at: datetime = Field(description="the tick's time")
    evaluated_at: datetime = Field(description="the time the samples were read for")
    sources: dict[str, SourceHealth] = Field(default_factory=dict)
    signals: dict[str, SignalState] = Field(default_factory=dict)
    canaries: dict[str, CanaryState] = Field(default_factory=dict)
    takes_traffic: dict[str, bool | None] = Field(default_factory=dict)
    incidents: tuple[str, ...] = Field((), description="titles of the incidents that are open")
