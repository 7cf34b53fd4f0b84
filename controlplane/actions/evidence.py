"""What the last tick says for or against sending users to a zone, for actions that return it to service.

One rule: what is not known is neither good nor bad, and nobody is sent where it is not known
to be good. It measures nothing; it reads what the controller left behind.
"""

from __future__ import annotations

from collections.abc import Collection
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


def calm(context: ActionContext) -> Evidence:
    """Tell whether the service is at rest: no incident is open, and none of its own SLOs is broken.

    What can wait is done only then. While nobody can tell, it is not.
    """
    snapshot, reason = _fresh(context)
    if snapshot is None:
        return Evidence(None, reason)
    if snapshot.incidents:
        more = f" and {len(snapshot.incidents) - 1} more" if len(snapshot.incidents) > 1 else ""
        return Evidence(False, f"an incident is open: {snapshot.incidents[0]}{more}")
    broken = broken_for_all(context)
    if broken:
        return Evidence(False, "; ".join(_measured(text, snapshot.signals[text]) for text in broken))
    return Evidence(True, "no incident is open, and no SLO of the service is broken")


def broken_for_all(context: ActionContext) -> list[str]:
    """Return the service's own SLOs (text forms of their signals) that are broken now."""
    snapshot, _ = _fresh(context)
    found = {} if snapshot is None else snapshot.signals
    return sorted(
        text for text, state in found.items() if state.good is False and _is_of_all(Signal.parse(text))
    )


def clients_of(
    target: Target, context: ActionContext, *, since: datetime, excused: Collection[str] = ()
) -> Evidence:
    """Tell whether an SLO is broken for ``target`` or its whole service, on samples not older than ``since``.

    ``excused`` are SLOs of the whole service that were broken before the target got anything:
    they speak neither for nor against it. Its clients may be badly off just because it is
    missing. One SLO that is kept and none that is broken is good. Where there are too few requests for any
    verdict, the canary alone must do, and nothing broken is good too; but not while a source of
    observation is not fresh: then silence may be blindness, and nothing is known.
    """
    snapshot, reason = _fresh(context)
    if snapshot is None:
        return Evidence(None, reason)
    if snapshot.evaluated_at < since:
        return Evidence(None, "nothing has been measured since")
    judged = {
        text: state
        for text, state in sorted(snapshot.signals.items())
        if state.since >= since and text not in excused and _concerns(Signal.parse(text), target)
    }
    broken = [_measured(text, state) for text, state in judged.items() if state.good is False]
    if broken:
        return Evidence(False, "; ".join(broken))
    kept = sum(state.good is True for state in judged.values())
    if kept:
        return Evidence(True, f"no SLO is broken, {kept} kept")
    missing = sorted(name for name, health in snapshot.sources.items() if health != "fresh")
    if missing:
        return Evidence(None, f"no SLO can be judged without fresh measurements from {', '.join(missing)}")
    return Evidence(True, "no SLO is broken, with too few requests to judge one")


def objective_at(
    slo: str, target: Target, context: ActionContext, *, since: datetime | None
) -> SignalState | None:
    """Return how an SLO stands at exactly ``target``; None: not known (yet).

    ``since``: only on samples from then on; None: on whatever its window holds.
    """
    snapshot, _ = _fresh(context)
    if snapshot is None:
        return None
    state = snapshot.signals.get(str(Signal("slo", slo, target)))
    if state is None or state.good is None or (since is not None and state.since < since):
        return None
    return state


def measured_at(target: Target, context: ActionContext, *, since: datetime) -> Evidence:
    """Tell whether anything that is measured of exactly ``target`` is bad, on samples from ``since`` on.

    Nothing bad is good: what speaks for a target is its canary.
    """
    snapshot, reason = _fresh(context)
    if snapshot is None:
        return Evidence(None, reason)
    if snapshot.evaluated_at < since:
        return Evidence(None, "nothing has been measured since")
    bad = [
        _measured(text, state)
        for text, state in sorted(snapshot.signals.items())
        if state.good is False and state.since >= since and Signal.parse(text).target == target
    ]
    return Evidence(False, "; ".join(bad)) if bad else Evidence(True, "nothing bad is measured of it")


def _fresh(context: ActionContext) -> tuple[SignalsSnapshot | None, str]:
    snapshot = context.port(SignalReader).latest(context.service.name)
    if snapshot is None:
        return None, "nothing has been measured yet"
    if context.clock.now() - snapshot.at > timedelta(seconds=FRESH):
        return None, f"the last measurement is of {snapshot.at:%H:%M:%S} UTC"
    return snapshot, ""


def _concerns(signal: Signal, target: Target) -> bool:
    return signal.kind == "slo" and (
        target.contains(signal.target) or (_is_of_all(signal) and signal.target.contains(target))
    )


def _is_of_all(signal: Signal) -> bool:
    return signal.kind == "slo" and signal.target.level == "service"


def _measured(text: str, state: SignalState) -> str:
    value = "unknown" if state.value is None else f"{state.value:.3g}"
    return f"{text} is {value} against {state.objective:.3g}"
