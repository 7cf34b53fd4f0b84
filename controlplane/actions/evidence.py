"""What the last tick says for or against sending users to a zone, for actions that return it to service.

One rule: what is not known is neither good nor bad, and nobody is sent where it is not known
to be good. It measures nothing; it reads what the controller left behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.model.action import ActionContext, SignalReader
from controlplane.model.signals import SignalsSnapshot, SignalState
from controlplane.model.target import Signal, Target

FRESH = 10.0
"""Seconds: five ticks. What was measured before that says nothing about now."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A verdict (None: not known) and the sentence to show with it."""

    good: bool | None
    why: str


def canary_of(target: Target, context: ActionContext) -> Evidence:
    """Tell what known questions, asked past the weights, say of ``target``."""
    snapshot, reason = _fresh(context)
    if snapshot is None:
        return Evidence(None, reason)
    canary = snapshot.canaries.get(str(target))
    if canary is None:
        return Evidence(None, f"no canary speaks for {target.name}")
    if context.clock.now() - canary.at > timedelta(seconds=FRESH):
        return Evidence(None, f"the canary of {target.name} last answered at {canary.at:%H:%M:%S} UTC")
    said = {True: "is good", False: "is not good", None: "says nothing"}[canary.good]
    detail = f" ({canary.detail})" if canary.detail else ""
    return Evidence(canary.good, f"the canary of {target.name} {said}{detail}")


def clients_of(target: Target, context: ActionContext, *, since: datetime) -> Evidence:
    """Tell whether an SLO is broken for ``target`` or its whole service, on samples not older than ``since``.

    Not broken is good: a trickle of requests is too little for a verdict of its own, and the
    canary speaks beside it. With a source of observation that is not fresh, nothing is known.
    """
    snapshot, reason = _fresh(context)
    if snapshot is None:
        return Evidence(None, reason)
    if snapshot.evaluated_at < since:
        return Evidence(None, "nothing has been measured since")
    missing = sorted(name for name, health in snapshot.sources.items() if health != "fresh")
    if missing:
        return Evidence(None, f"no fresh measurements from {', '.join(missing)}")
    broken = [
        f"{text} is {state.value} against {state.objective}"
        for text, state in sorted(snapshot.signals.items())
        if _concerns(Signal.parse(text), target) and _is_broken(state, since)
    ]
    return Evidence(False, "; ".join(broken)) if broken else Evidence(True, "no SLO is broken")


def _fresh(context: ActionContext) -> tuple[SignalsSnapshot | None, str]:
    snapshot = context.port(SignalReader).latest(context.service.name)
    if snapshot is None:
        return None, "nothing has been measured yet"
    if context.clock.now() - snapshot.at > timedelta(seconds=FRESH):
        return None, f"the last measurement is of {snapshot.at:%H:%M:%S} UTC"
    return snapshot, ""


def _concerns(signal: Signal, target: Target) -> bool:
    return signal.kind == "slo" and (
        target.contains(signal.target)
        or (signal.target.level == "service" and signal.target.contains(target))
    )


def _is_broken(state: SignalState, since: datetime) -> bool:
    return state.since >= since and (state.good is False or state.clients_good is False)
