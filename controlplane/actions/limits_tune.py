"""`limits.tune`: find how many requests a second a zone can take, by its own objective, while it is needed.

More than a zone can serve in time is served to nobody: it waits, and is late. The right limit moves with
the length of prompts and answers, so no number typed beforehand is right for long.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from controlplane.actions import admission
from controlplane.actions.evidence import objective_at
from controlplane.kernel.clock import to_rfc3339
from controlplane.model.action import (
    Action,
    ActionContext,
    Change,
    Dimension,
    Reach,
    Touch,
    UndoRecord,
    UndoResult,
)
from controlplane.model.base import Duration, Model, Name
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.signals import SignalState
from controlplane.platforms.port import MAX_LIMIT

LOOK_EVERY = 1.0
"""Seconds between looks at what is measured: half a tick."""
RAISE = 1.05
"""A limit that is kept and used grows by a twentieth: the loss of one step too far is small."""
CUT_LEAST, CUT_MOST = 0.9, 0.5
"""One that is missed falls to nine tenths; when nobody is served in time, to half."""
USED = 0.8
"""A limit under which less than this share of it arrives holds nobody back."""


class TuneParameters(Model):
    """Parameters of `limits.tune`."""

    zone: str = Field(min_length=1, description="the zone that is limited")
    slo: Name = Field(description="the SLO, judged by zone, that those who are let in shall get")
    least: int = Field(1, ge=1, le=MAX_LIMIT, description="never fewer requests per second than this")
    most: int = Field(MAX_LIMIT, ge=1, le=MAX_LIMIT, description="never more")
    settled: Duration = Field(
        60.0,
        gt=0,
        description="ends, and takes the limit away, when it has held nobody back for so long",
        validate_default=False,
    )
    within: Duration = Field(
        900.0, gt=0, description="ends after so long in any case; the limit stays", validate_default=False
    )

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if self.least > self.most:
            msg = "`least` is more than `most`"
            raise ValueError(msg)
        return self


class LimitsTune(Action[TuneParameters]):
    """Limit a zone to as many requests per second as it serves within an objective, while more come.

    It begins when the SLO is missed at the zone, with what the zone serves then. Each limit is judged on
    samples that are all younger than it: when the SLO is missed the limit falls, by a tenth to a half as
    far as it is missed; when it is kept, and at least four fifths of the limit arrive, the limit grows by
    a twentieth. While nobody can tell (too few requests, no fresh measurement) it stays. When nobody has
    been held back for `settled`, what stood before is set again and the step is done; after `within` it
    is done too, with the limit in place. Those above the limit are answered 429 with `Retry-After` before
    they cost a GPU anything.

    A limit that somebody else changes meanwhile is left alone and fails the step. Undo sets what stood
    before, if what stands is still the step's own.

    ```yaml
    uses: limits.tune
    with: {zone: zone-b, slo: chat-ttft, least: 2, settled: 1m, within: 15m}
    ```
    """

    name = "limits.tune"
    parameters = TuneParameters
    reach = Reach.SERVING
    reversible = True
    looks_first = True
    permissions = admission.PERMISSIONS
    references: ClassVar = {"slo": "SLO"}
    outputs: ClassVar = {
        "limit": "the zone's requests per second at the end; null for any number",
        "before": "the limit before the step",
        "lowest": "the lowest limit that was set",
        "highest": "the highest limit that was set",
        "needed": "whether more than the limit still came at the end",
    }

    def touches(self, parameters: TuneParameters, context: ActionContext) -> list[Touch]:
        return [Touch(admission.zone_of(parameters.zone, context), Dimension.NOTHING)]

    def plan(self, parameters: TuneParameters, context: ActionContext) -> list[Change]:
        target = admission.zone_of(parameters.zone, context)
        present = admission.limit_of(target)(admission.read(context))
        seen = objective_at(parameters.slo, target, context, since=None)
        first = "unknown yet" if seen is None else _next(present, seen, parameters)
        return [] if first == present else [Change(target, admission.LIMIT, present, first)]

    def run(self, parameters: TuneParameters, context: ActionContext) -> Outcome:
        match context.state.get("phase"):
            case None:
                return self._begin(parameters, context)
            case "look":
                return self._look(parameters, context)
            case _:
                return self._set(parameters, context)

    def observe(self, parameters: TuneParameters, context: ActionContext) -> Outcome:
        """Go on: the limit says by itself whether it was written."""
        return Again(0.0, dict(context.state), "the answer was lost: looking at the limit")

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        target = record.target
        look = admission.limit_of(target)
        return admission.restore(record, context, look, admission.put_limit(target, context))

    def _begin(self, parameters: TuneParameters, context: ActionContext) -> Outcome:
        target = admission.zone_of(parameters.zone, context)
        now = context.clock.now()
        before = admission.limit_of(target)(admission.read(context))
        state = {
            "phase": "look",
            "before": before,
            "ours": before,
            "round": 0,
            "lowest": None,
            "highest": None,
            "since": None,  # no limit of ours stands yet: every sample counts
            "ends": to_rfc3339(now + timedelta(seconds=parameters.within)),
        }
        return Again(0.0, state, f"{target.name} is at {before}")

    def _look(self, parameters: TuneParameters, context: ActionContext) -> Outcome:
        """Judge the limit that stands; every way out of here is a state that a crash cannot lose."""
        state, now = dict(context.state), context.clock.now()
        target, ours = admission.zone_of(parameters.zone, context), state["ours"]
        present = admission.limit_of(target)(admission.read(context))
        if present != ours:
            message = f"limit of {target.name} is {present!r}: somebody else has set it"
            return Failed(FailureKind.PERMANENT, message, {"found": present})
        since = None if state["since"] is None else datetime.fromisoformat(state["since"])
        seen = objective_at(parameters.slo, target, context, since=since)
        if now >= datetime.fromisoformat(state["ends"]):
            return self._over(parameters, state)
        if seen is None:
            return Again(LOOK_EVERY, state, f"waiting: {parameters.slo} is not known at {target.name} yet")
        state["known"] = True
        wanted = _next(ours, seen, parameters)
        if wanted != ours:
            return _write(state, wanted, f"{target.name} goes from {ours} to {wanted}: {_said(seen)}")
        if ours is not None and (not seen.good or _is_used(ours, seen)):
            state.pop("freeSince", None)
        elif _long_enough(state, parameters.settled, now):
            why = f"{target.name} holds nobody back at {ours} for {parameters.settled:g} s"
            return _write({**state, "last": True}, state["before"], why)
        return Again(LOOK_EVERY, state, f"watching {target.name} at {ours}: {_said(seen)}")

    def _set(self, parameters: TuneParameters, context: ActionContext) -> Outcome:
        state = dict(context.state)
        target, wanted = admission.zone_of(parameters.zone, context), state["next"]
        change = Change(target, admission.LIMIT, state["ours"], wanted)
        look, put = admission.limit_of(target), admission.put_limit(target, context)
        ours = [state["ours"], wanted]
        written = admission.write(context, change, look, put, ours=ours, part=str(state["round"]))
        if isinstance(written, Failed):
            return written
        context.note(state["why"])
        state |= {"ours": wanted, "phase": "look", "since": to_rfc3339(context.clock.now())}
        if state.get("last"):
            return self._over(parameters, state)
        return Again(LOOK_EVERY, state, f"watching {target.name} at {wanted}")

    def _over(self, parameters: TuneParameters, state: dict[str, Any]) -> Outcome:
        if "known" not in state:
            message = f"{parameters.slo} was never known at {parameters.zone} within {parameters.within:g} s"
            return Failed(FailureKind.PERMANENT, message)
        outputs = {"limit": state["ours"], "before": state["before"], "needed": not _is_free(state)}
        return Done(outputs | {"lowest": state["lowest"], "highest": state["highest"]})


def _is_free(state: dict[str, Any]) -> bool:
    """Tell whether nobody was held back in the end: no limit, or one that had held nobody for long enough."""
    return state["ours"] is None or bool(state.get("last"))


def _long_enough(state: dict[str, Any], settled: float, now: datetime) -> bool:
    """Tell whether the limit has held nobody back for so long, and remember since when."""
    since = datetime.fromisoformat(state.setdefault("freeSince", to_rfc3339(now)))
    return now - since >= timedelta(seconds=settled)


def _write(state: dict[str, Any], wanted: int | None, why: str) -> Again:
    """Decide on a limit, durably, before it is written."""
    more: dict[str, Any] = {"phase": "set", "next": wanted, "round": state["round"] + 1, "why": why}
    if not state.get("last"):
        known = [limit for limit in (state["lowest"], state["highest"], wanted) if limit is not None]
        more |= {"lowest": min(known), "highest": max(known)}
    kept = {name: value for name, value in state.items() if name != "freeSince"}
    return Again(0.0, kept | more, why)


def _next(ours: int | None, seen: SignalState, parameters: TuneParameters) -> int | None:
    """Return the limit that follows: the law of the action's description."""
    if ours is None:
        return None if seen.good else _bound(_rate(seen), parameters)
    if not seen.good:
        share = (seen.value or 0.0) / seen.objective if seen.objective else 1.0
        return _bound(math.floor(ours * min(max(share, CUT_MOST), CUT_LEAST)), parameters)
    return _bound(math.ceil(ours * RAISE), parameters) if _is_used(ours, seen) else ours


def _rate(seen: SignalState) -> float:
    """Return the requests per second that the samples were taken of."""
    return seen.samples / max((seen.until - seen.since).total_seconds(), 1.0)


def _is_used(limit: int, seen: SignalState) -> bool:
    return _rate(seen) >= USED * limit


def _bound(limit: float, parameters: TuneParameters) -> int:
    return int(min(max(math.ceil(limit), parameters.least), parameters.most))


def _said(seen: SignalState) -> str:
    value = "unknown" if seen.value is None else f"{seen.value:.3g}"
    return f"{value} of {_rate(seen):.3g} requests/s in time, {seen.objective:.3g} wanted"
