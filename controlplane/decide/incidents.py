"""Incidents: from a verdict each tick to states that people and playbooks can rely on.

Hysteresis both ways. Bad at two ticks, or at one with a second witness, is firing; well for
long enough is resolved. ``mitigated``: the clients are well while the target takes no
traffic, or the service is while some of its clients are refused. ``resolved``: the canary was good
for half a minute and the target has its traffic back; of the service, nobody is refused any more.
Where the observer is blind, the state is unknown, and nothing fires or heals. It returns what should
change, and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from controlplane.kernel.durations import format_duration
from controlplane.model.records import Incident
from controlplane.model.signals import CanaryState, Verdict
from controlplane.model.states import IncidentState
from controlplane.model.target import Signal

BAD_TICKS = 2
"""Bad at so many ticks in a row is bad, without a second witness."""
CALM_TICKS = 2
"""Ticks in a row after which a pending incident that does not go on was nothing."""
RECENT_TICKS = 2
"""Ticks for which a signal that is not bad any more does not count as calm yet."""
CLIENT_TICKS = 2
"""Ticks in a row at which the clients must be well before that counts as mitigated."""
HEALED_FOR = 6.0
"""Seconds for which a node, a replica or the service must be well again."""
HEALTHY_FOR = 30.0
"""Seconds for which a zone's canary (or, without one, its signal) must be good before it is resolved."""


@dataclass(slots=True)
class Memory:
    """What one signal was at the last ticks: lengths of unbroken rows, in ticks and in time."""

    bad_ticks: int = 0
    calm_ticks: int = 0
    client_ticks: int = 0
    bad_since: datetime | None = None
    calm_since: datetime | None = None
    good_since: datetime | None = None

    def take(self, verdict: Verdict, now: datetime) -> None:
        """Count this tick. A blind tick breaks every row."""
        self.bad_ticks = self.bad_ticks + 1 if verdict.bad else 0
        self.bad_since = (self.bad_since or now) if verdict.bad else None
        calm = not verdict.bad and not verdict.blind
        self.calm_ticks = self.calm_ticks + 1 if calm else 0
        self.calm_since = (self.calm_since or now) if calm else None
        good = calm and verdict.state.good is True
        self.good_since = (self.good_since or now) if good else None
        well = verdict.state.clients_good is True and not verdict.blind
        self.client_ticks = self.client_ticks + 1 if well else 0

    def bad_for(self, now: datetime) -> float:
        return (now - self.bad_since).total_seconds() if self.bad_since else 0.0

    def good_for(self, now: datetime) -> float:
        return (now - self.good_since).total_seconds() if self.good_since else 0.0


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What else counts at this tick: a second witness, traffic, and what the canary says.

    ``takes_traffic`` None: not known. ``isolated``: a replica that the platform keeps out of rotation.
    ``out_of_service``: a run or drill still holds the target.
    ``refuses``: the tiers of clients that the gateway turns away.
    ``warming``: the longer windows are still being read, so that nothing is known to be over.
    """

    now: datetime
    confirmed: bool = False
    takes_traffic: bool | None = None
    isolated: bool = False
    out_of_service: bool = False
    canary: CanaryState | None = None
    refuses: tuple[str, ...] = ()
    warming: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """The state an incident should have now, and why."""

    state: IncidentState
    reason: str


def opens(verdict: Verdict, incident: Incident | None) -> bool:
    """Tell whether a new incident begins."""
    return incident is None and verdict.bad


def next_state(
    state: IncidentState, verdict: Verdict, memory: Memory, around: Circumstances, *, fired: bool
) -> Step | None:
    """Return the move that an incident in ``state`` should make now, None for none.

    ``memory`` has counted this tick already. ``fired``: it was firing at some time, which an
    unknown one returns to.
    """
    if verdict.blind:
        if state is IncidentState.UNKNOWN:
            return None
        return Step(IncidentState.UNKNOWN, "the observer lost sight of it")
    step = _next(state, verdict, memory, around, fired=fired)
    resolves = step is not None and step.state is IncidentState.RESOLVED
    return None if resolves and around.warming else step


def _next(
    state: IncidentState, verdict: Verdict, memory: Memory, around: Circumstances, *, fired: bool
) -> Step | None:
    match state:
        case IncidentState.PENDING:
            return _from_pending(verdict, memory, around)
        case IncidentState.FIRING:
            return _mitigated(verdict, memory, around) or _healed(verdict, memory, around)
        case IncidentState.MITIGATED:
            return _from_mitigated(verdict, memory, around)
        case IncidentState.UNKNOWN:
            return _from_unknown(verdict, memory, around, fired=fired)
        case _:
            return None


def _from_pending(verdict: Verdict, memory: Memory, around: Circumstances) -> Step | None:
    if verdict.bad:
        held = memory.bad_for(around.now)
        if held < verdict.hold or not (around.confirmed or memory.bad_ticks >= BAD_TICKS):
            return None
        why = "two sources agree" if around.confirmed else f"bad at {memory.bad_ticks} ticks"
        return Step(IncidentState.FIRING, f"{words(verdict)} ({why})")
    if memory.calm_ticks >= CALM_TICKS:
        return Step(IncidentState.RESOLVED, "it did not last")
    return None


def _mitigated(verdict: Verdict, memory: Memory, around: Circumstances) -> Step | None:
    if _is_held(verdict, around):
        if verdict.bad or memory.good_for(around.now) < HEALED_FOR:
            return None
        return Step(
            IncidentState.MITIGATED, f"{', '.join(around.refuses)} is refused and the others are well"
        )
    evacuated = _is_evacuated(verdict, around)
    if evacuated and memory.client_ticks >= CLIENT_TICKS:
        clients = verdict.state.clients_value
        seen = "" if clients is None else f": {clients:.4g}, objective {verdict.state.objective:.4g}"
        return Step(IncidentState.MITIGATED, f"it takes no traffic and the clients are well{seen}")
    return None


def _is_held(verdict: Verdict, around: Circumstances) -> bool:
    """Tell whether the service is only well because some of its clients are turned away."""
    measured = verdict.signal.kind in {"slo", "threshold"}
    return measured and verdict.signal.target.level == "service" and bool(around.refuses)


def _is_evacuated(verdict: Verdict, around: Circumstances) -> bool:
    """Tell whether somebody keeps the clients away from the target.

    That of a zone is said by its weight, that of a replica by its rotation: one that is only down,
    or whose zone is evacuated, is still to be seen to.
    """
    level = verdict.signal.target.level
    return around.takes_traffic is False if level == "zone" else level == "replica" and around.isolated


def _healed(
    verdict: Verdict, memory: Memory, around: Circumstances, *, mitigated: bool = False
) -> Step | None:
    if verdict.bad or verdict.state.good is False or _is_held(verdict, around):
        return None
    canary = around.canary if around.canary is not None and around.canary.good is not None else None
    level = verdict.signal.target.level
    if level == "zone" or (level == "replica" and (mitigated or around.isolated)):
        return _given_back(verdict, memory, around, canary)
    if level != "service" and canary is not None and not canary.good:
        return None
    good_for = memory.good_for(around.now)
    if good_for < HEALED_FOR:
        return None
    return Step(IncidentState.RESOLVED, f"good for {format_duration(round(good_for))}")


def _given_back(
    verdict: Verdict, memory: Memory, around: Circumstances, canary: CanaryState | None
) -> Step | None:
    """Resolve what clients can be kept away from: it has them back, and was good for long enough."""
    if _is_evacuated(verdict, around) or around.out_of_service:
        return None
    good_for = canary.good_for if canary and canary.good else memory.good_for(around.now)
    if (canary is not None and not canary.good) or good_for < HEALTHY_FOR:
        return None
    who = "the canary" if canary else "the signal"
    return Step(IncidentState.RESOLVED, f"{who} was good for {format_duration(round(good_for))}")


def _from_mitigated(verdict: Verdict, memory: Memory, around: Circumstances) -> Step | None:
    back = (
        not around.isolated if verdict.signal.target.level == "replica" else around.takes_traffic is not False
    )
    if back and memory.bad_ticks >= BAD_TICKS:
        again = "" if verdict.signal.target.level == "service" else "it has traffic again, and "
        return Step(IncidentState.FIRING, f"{again}{words(verdict)}")
    return _healed(verdict, memory, around, mitigated=True)


def _from_unknown(verdict: Verdict, memory: Memory, around: Circumstances, *, fired: bool) -> Step | None:
    mitigated = _mitigated(verdict, memory, around)
    if mitigated:
        return mitigated
    if verdict.bad:
        if fired and (around.confirmed or memory.bad_ticks >= BAD_TICKS):
            return Step(IncidentState.FIRING, f"seen again: {words(verdict)}")
        return None if fired else Step(IncidentState.PENDING, f"seen again: {words(verdict)}")
    if not fired and memory.calm_ticks >= CALM_TICKS:
        return Step(IncidentState.RESOLVED, "seen again: it did not last")
    return _healed(verdict, memory, around)


def title(signal: Signal) -> str:
    """Return what an incident is called in lists."""
    what = signal.name if signal.kind == "slo" else f"{signal.kind} {signal.name}"
    return f"{what} at {signal.target.name}"


def measured(incident: Incident, verdict: Verdict, memory: Memory) -> dict[str, object]:
    """Return the columns of an incident that follow the verdict."""
    return {
        "value": verdict.state.value,
        "objective": verdict.state.objective,
        "calm_since": _calm_since(incident, verdict, memory),
    }


def _calm_since(incident: Incident, verdict: Verdict, memory: Memory) -> datetime | None:
    """Return since when the signal has not been bad, once that is more than a few ticks.

    A new leader goes on from what is written. That an event is over makes it no less an event.
    """
    if verdict.event or memory.calm_since is None:
        return None
    return incident.calm_since or (memory.calm_since if memory.calm_ticks > RECENT_TICKS else None)


def is_old_enough(incident: Incident, now: datetime, tick: float) -> bool:
    """Tell whether an incident is two ticks old: had its parent been bad as well, it would have shown."""
    return now - incident.opened_at >= timedelta(seconds=0.75 * tick)


def words(verdict: Verdict) -> str:
    """Return what a verdict rests on, in one line."""
    state = verdict.state
    value = "no data" if state.value is None else f"{state.value:.4g}"
    parts = [f"{value} against {state.objective:.4g}"]
    if verdict.signal.kind == "slo":
        parts[0] += f" on {state.samples:.0f} samples"
        parts += [f"tiers {' '.join(verdict.tiers)}"] if verdict.tiers else []
    return ", ".join([*parts, *([state.detail] if state.detail else [])])
