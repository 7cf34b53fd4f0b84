"""``drill.observe``, ``drill.judge``, ``drill.restored``: watching the clients, from fault to full service.

All three look at the clients' own record once a second and hold no worker in between. Observing
ends early when the drill must stop, or when mitigation in time has become impossible: nobody
suffers longer for a verdict that is known.
"""

from __future__ import annotations

from typing import ClassVar

from chaos.drills.case import Case, Judged, Observed, Restored, Reverted, case_of
from chaos.drills.preconditions import EVERY, NoParameters
from chaos.drills.rows import detection, not_yet_run, still_out
from chaos.drills.truth import Truth
from chaos.drills.verdict import Moment, mitigation, recovery
from chaos.drills.watch import query_values, sample, stop_reason
from controlplane.kernel.errors import Unavailable
from controlplane.model.action import Action, ActionContext
from controlplane.model.base import Model
from controlplane.model.outcome import Again, Done, Outcome

OVER = "its time is over"
SETTLE = 10.0
"""Seconds that judging waits, fault in force, for open requests to end when the answer hangs on them."""


class Observe(Action[NoParameters]):
    """Watches while the fault stands or the exercise runs, unless the drill must stop or has failed."""

    name: ClassVar[str] = "drill.observe"
    parameters: ClassVar[type[Model]] = NoParameters
    outputs: ClassVar[dict[str, str]] = {
        "aborted": "why the drill was stopped; null if it was not",
        "reason": "why observing ended",
        "values": "what the continuous queries of the hypothesis gave",
    }

    def run(self, parameters: NoParameters, context: ActionContext) -> Outcome:
        case = case_of(context)
        injected_at, ends_at = case.injected_at, case.ends_at
        if injected_at is None or ends_at is None:
            return _observed(reason="nothing was begun")
        values = sample(case, context.state.get("values", {}))
        state = {"values": values}
        now = context.clock.now().timestamp()
        try:
            truth = case.truth()
        except Unavailable as error:
            if now < ends_at:
                return Again(EVERY, state, str(error))
            return _observed(reason=OVER, values=values)
        aborted = stop_reason(case, truth)
        if aborted:
            return _observed(aborted=aborted, reason=aborted, values=values)
        deadline = injected_at + case.drill.spec.recovery.within
        moment = _mitigation(case, truth, injected_at)
        if moment.at is None and moment.earliest > deadline:
            return _observed(reason="not mitigated in time", values=values)
        if now >= ends_at:
            return _observed(reason=OVER, values=values)
        return Again(EVERY, state, "mitigated" if moment.at is not None else "not mitigated yet")


class Judge(Action[NoParameters]):
    """Judges the mitigation while the fault still stands: what its end heals is no mitigation."""

    name: ClassVar[str] = "drill.judge"
    parameters: ClassVar[type[Model]] = NoParameters
    outputs: ClassVar[dict[str, str]] = {
        "judgedAt": "when it was judged, unix seconds; windows that end later do not count",
        "mitigatedAt": "start of the first 10 s without a new request to the target at 0.95; null if none",
        "inTime": "whether that was within what the drill allows",
    }

    def run(self, parameters: NoParameters, context: ActionContext) -> Outcome:
        case = case_of(context)
        injected_at = case.injected_at
        now = context.clock.now().timestamp()
        if injected_at is None:
            return Done(Judged(judged_at=now).model_dump(mode="json", by_alias=True))
        waited = (context.clock.now() - context.started_at).total_seconds()
        try:
            truth = case.truth()
        except Unavailable as error:
            if waited < SETTLE:
                return Again(EVERY, reason=str(error))
            return Done(Judged(judged_at=now).model_dump(mode="json", by_alias=True))
        deadline = injected_at + case.drill.spec.recovery.within
        moment = _mitigation(case, truth, injected_at)
        stopped = case.found("observe", Observed)
        if (
            _hangs_on_open_requests(moment, deadline)
            and waited < SETTLE
            and not (stopped and stopped.aborted)
        ):
            return Again(EVERY, reason="some requests are still open")
        in_time = moment.at is not None and moment.at <= deadline
        judged = Judged(judged_at=truth.now, mitigated_at=moment.at, in_time=in_time)
        return Done(judged.model_dump(mode="json", by_alias=True))


class AwaitRestored(Action[NoParameters]):
    """Waits until the original weights stand, what was hit is back, and every client is served as before."""

    name: ClassVar[str] = "drill.restored"
    parameters: ClassVar[type[Model]] = NoParameters
    outputs: ClassVar[dict[str, str]] = {
        "restoredFrom": "since when the original weights stand and the fault is clear; null if they do not",
        "recoveredAt": "start of the first 10 s of full service after that; null if there was none in time",
        "endedAt": "when waiting ended, unix seconds",
        "values": "what the queries of the hypothesis gave at the end",
    }

    def run(self, parameters: NoParameters, context: ActionContext) -> Outcome:
        case = case_of(context)
        allowed = case.drill.spec.recovery.restored_within
        over = (context.clock.now() - context.started_at).total_seconds() >= allowed
        since = moment = None
        try:
            truth = case.truth()
            since = restored_from(case)
            if since is not None:
                moment = _recovery(case, truth, since)
            recovered_at = moment.at if moment is not None else None
            left = [*still_out(case), *_coming(case)]
            if (recovered_at is None or left) and not over:
                share = "the effective share" if since is not None else "the original weights"
                what = share if recovered_at is None else left[0]
                return Again(EVERY, reason=f"waits for {what}")
            ended_at, values = truth.now, query_values(case, "end")
        except Unavailable as error:
            if not over:
                return Again(EVERY, reason=str(error))
            recovered_at, ended_at, values = None, context.clock.now().timestamp(), {}
        found = Restored(restored_from=since, recovered_at=recovered_at, ended_at=ended_at, values=values)
        return Done(found.model_dump(mode="json", by_alias=True))


def _coming(case: Case) -> list[str]:
    """List what is to run yet; where nobody has answered the fault, nothing will be brought back either."""
    recovery = case.drill.spec.recovery
    if not recovery.then or detection(case).playbook != recovery.playbook:
        return []
    return [f"playbook {name}" for name in not_yet_run(case)]


def restored_from(case: Case) -> float | None:
    """Return since when the weights are as before and nothing of ours stands; None while they are not."""
    ready, reverted = case.ready, case.found("revert", Reverted)
    if ready is None or reverted is None or reverted.cleared_at is None:
        return None
    if case.ports.evidence.weights() != ready.weights:
        return None
    changed = case.ports.evidence.weights_changed_at() or 0.0
    judged = case.found("judge", Judged)
    mitigated = judged.mitigated_at if judged is not None else None
    since = reverted.cleared_at if mitigated is None or case.exercise is not None else mitigated
    return max(changed, since)


def _mitigation(case: Case, truth: Truth, injected_at: float) -> Moment:
    tiers = case.drill.spec.recovery.tiers
    return mitigation(truth, case.aim, since=injected_at, until=truth.now, tiers=tiers)


def _recovery(case: Case, truth: Truth, since: float) -> Moment:
    ready = case.ready
    return recovery(truth, ready.zone_shares if ready else {}, since=since, until=truth.now)


def _hangs_on_open_requests(moment: Moment, deadline: float) -> bool:
    """Tell whether the answer could still turn out either way."""
    if moment.at is not None and moment.at <= deadline:
        return False
    return moment.earliest <= deadline


def _observed(
    *, reason: str, aborted: str | None = None, values: dict[str, list[float | None]] | None = None
) -> Done:
    found = Observed(aborted=aborted, reason=reason, values=values or {})
    return Done(found.model_dump(mode="json", by_alias=True))
