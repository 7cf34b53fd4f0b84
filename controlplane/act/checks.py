"""Judging one check of a verification from one look: pure, so that any verdict can be replayed.

Four results: successful, failed, inconclusive (nobody can tell), error (the measuring
itself broke). Inconclusive is never success. Terms of queries follow Argo's analysis.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from pydantic import Field

from controlplane.kernel.durations import format_duration, parse_duration
from controlplane.kernel.errors import FleetwardError, InvalidInput
from controlplane.kernel.templating import evaluate
from controlplane.model.base import Model
from controlplane.model.playbook import QueryCheck, SignalCheck
from controlplane.model.signals import SignalsSnapshot, SignalState
from controlplane.model.target import Target

LOOK_SECONDS = 2.0
"""How often a signal is looked at: the loop's tick."""

STALE_SECONDS = 15.0
"""A snapshot older than this says nothing about now."""

ERROR_LIMIT = 4
"""So many measurements in a row may break before the check is an error (Argo's default)."""

MAX_RANGE_SECONDS = 600.0
_RANGE = re.compile(r"\[\s*([0-9a-z.]+)\s*[\]:]")


class CheckResult(StrEnum):
    """What a check comes to."""

    SUCCESSFUL = "successful"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"


class CheckState(Model):
    """What one check remembers between looks; ``result`` None while it is open."""

    result: CheckResult | None = None
    message: str = ""
    begun_at: datetime
    due_at: datetime
    good_since: datetime | None = None
    """The end of the first samples of an unbroken row of good looks."""
    last_good: bool | None = None
    """The last definite verdict, of any look."""
    measured: int = 0
    failures: int = 0
    no_data: int = 0
    errors: int = 0
    values: tuple[float | None, ...] = Field((), description="of a query: what was measured")

    def with_(self, **values: Any) -> CheckState:
        return self.model_copy(update=values)

    def ended(self, result: CheckResult, message: str) -> CheckState:
        return self.with_(result=result, message=message)


def begin(check: SignalCheck | QueryCheck, now: datetime, effect_at: datetime | None) -> CheckState:
    """Start a check. A query waits until the longest range it asks for lies after the last effect."""
    due = now
    if isinstance(check, QueryCheck) and effect_at is not None:
        due = max(now, effect_at + timedelta(seconds=longest_range(check.query)))
    return CheckState(begun_at=now, due_at=due)


def longest_range(query: str) -> float:
    """Return the longest range selector of a PromQL query in seconds; 0 without one."""
    longest = 0.0
    for text in _RANGE.findall(query):
        try:
            longest = max(longest, parse_duration(text))
        except InvalidInput:
            continue
    return min(longest, MAX_RANGE_SECONDS)


def look(
    check: SignalCheck,
    state: CheckState,
    snapshot: SignalsSnapshot | None,
    *,
    signal: str | None,
    target: str | None,
    effect_at: datetime | None,
    now: datetime,
) -> CheckState:
    """Judge a signal at one look.

    Counted are samples that begin after the last effect. A zone that takes no traffic has
    none of its own; then the clients of the whole service speak for it. A part of a zone has those
    that its canary makes.
    """
    if signal is None:
        return state.ended(
            CheckResult.INCONCLUSIVE, "no signal started this run: there is nothing to look at"
        )
    good, until, message = _verdict(snapshot, signal, target, effect_at, now)
    if good is None:
        state = state.with_(good_since=None, message=message)
    elif good:
        state = state.with_(good_since=state.good_since or until, last_good=True, message=message)
    else:
        state = state.with_(good_since=None, last_good=False, message=message)
    if state.good_since is not None and until is not None:
        held = (until - state.good_since).total_seconds()
        if held >= check.for_:
            return state.ended(CheckResult.SUCCESSFUL, f"{message}, for {format_duration(held)}")
    end = state.begun_at + timedelta(seconds=check.within)
    if now >= end:
        return _over(check, state)
    return state.with_(due_at=min(now + timedelta(seconds=LOOK_SECONDS), end))


def _verdict(
    snapshot: SignalsSnapshot | None,
    signal: str,
    target: str | None,
    effect_at: datetime | None,
    now: datetime,
) -> tuple[bool | None, datetime | None, str]:
    """Return good or bad (None: unknown), the end of the samples, and the words for it."""
    if snapshot is None:
        return None, None, "nothing has been measured yet"
    age = (now - snapshot.at).total_seconds()
    if age > STALE_SECONDS:
        return None, None, f"the last measurement is {format_duration(age)} old"
    measured = snapshot.signals.get(signal)
    if measured is None:
        return None, None, f"{signal} is not measured"
    if effect_at is not None and measured.since < effect_at:
        return None, None, "its samples still reach back before the last effect"
    evacuated = target is not None and snapshot.takes_traffic.get(target) is False
    if evacuated and measured.good is not None and Target.parse(str(target)).level not in {"service", "zone"}:
        evacuated = False  # its canary's questions make samples of its own
    good = measured.clients_good if evacuated else measured.good
    return good, measured.until, _words(signal, measured, evacuated=evacuated, good=good)


def _words(signal: str, state: SignalState, *, evacuated: bool, good: bool | None) -> str:
    value = state.clients_value if evacuated else state.value
    seen = "no data" if value is None else f"{value:.6g}"
    who = "the service's clients, since the target takes no traffic" if evacuated else "the target"
    word = {True: "good", False: "bad", None: "unknown"}[good]
    return f"{signal} is {word} for {who}: {seen}, objective {state.objective:.6g}"


def _over(check: SignalCheck, state: CheckState) -> CheckState:
    within = format_duration(check.within)
    if state.last_good is False:
        return state.ended(CheckResult.FAILED, f"not good within {within}: {state.message}")
    if state.last_good is None:
        return state.ended(CheckResult.INCONCLUSIVE, f"unknown for all of {within}: {state.message}")
    wanted = format_duration(check.for_)
    return state.ended(
        CheckResult.INCONCLUSIVE, f"not seen good for {wanted} within {within}: {state.message}"
    )


def measure(
    check: QueryCheck, state: CheckState, value: float | FleetwardError | None, now: datetime
) -> CheckState:
    """Judge one measurement of a query; None is no data, an error is that of the source."""
    due = now + timedelta(seconds=check.interval)
    if isinstance(value, FleetwardError):
        state = state.with_(errors=state.errors + 1, due_at=due, message=str(value))
        if isinstance(value, InvalidInput) or state.errors > ERROR_LIMIT:
            return state.ended(CheckResult.ERROR, f"cannot be measured: {value}")
        return state
    if value is None or not math.isfinite(value):
        return _without_data(check, state.with_(errors=0, due_at=due, values=(*state.values, None)))
    try:
        good = bool(evaluate(check.success_condition, {"result": value}))
    except FleetwardError as error:
        return state.ended(CheckResult.ERROR, str(error))
    failures = state.failures + (not good)
    said = f"{value:.6g} {'meets' if good else 'does not meet'} `{check.success_condition}`"
    state = state.with_(
        errors=0,
        due_at=due,
        measured=state.measured + 1,
        failures=failures,
        message=said,
        values=(*state.values, value),
    )
    if failures > check.failure_limit:
        return state.ended(CheckResult.FAILED, f"{said}; {failures} failed, {check.failure_limit} may")
    return _counted(check, state)


def _without_data(check: QueryCheck, state: CheckState) -> CheckState:
    state = state.with_(measured=state.measured + 1, message="no data")
    if check.no_data == "fail":
        state = state.with_(failures=state.failures + 1)
        if state.failures > check.failure_limit:
            return state.ended(CheckResult.FAILED, "no data, which counts as failed")
    else:
        state = state.with_(no_data=state.no_data + 1)
    return _counted(check, state)


def _counted(check: QueryCheck, state: CheckState) -> CheckState:
    if state.measured < check.count:
        return state
    if state.no_data:
        return state.ended(CheckResult.INCONCLUSIVE, f"{state.no_data} of {check.count} had no data")
    return state.ended(CheckResult.SUCCESSFUL, f"{state.message}, measured {check.count} times")


def summary(checks: Sequence[CheckState]) -> tuple[CheckResult | None, str]:
    """Return the verification's result (None while it is open), and the words that decided it."""
    for worst in (CheckResult.FAILED, CheckResult.ERROR, CheckResult.INCONCLUSIVE):
        found = next((check for check in checks if check.result is worst), None)
        if found is not None and (worst is CheckResult.FAILED or all(check.result for check in checks)):
            return worst, found.message
    if all(check.result is CheckResult.SUCCESSFUL for check in checks):
        return CheckResult.SUCCESSFUL, "; ".join(check.message for check in checks)
    return None, next((check.message for check in checks if check.result is None), "")
