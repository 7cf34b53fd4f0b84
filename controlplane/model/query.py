"""Events that PromQL counts: the indicator of an objective that the library does not know.

The texts hold ``{{ window }}`` where a range belongs, so that one query serves windows of every
length. Counters are rated before they are added up, as in Prometheus' own rules. It says what
is asked; who asks is the observer, or a Prometheus that is given the exported rules.
"""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass
from typing import Annotated, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.templating import check_template, names_read, render
from controlplane.model.base import Model, PositiveDuration

WINDOW = "window"
KEY_PREFIX = "query:"
"""What the name of a query's measure begins with."""

_UNITS = (("w", 604800000, True), ("d", 86400000, False), ("h", 3600000, False), ("m", 60000, False))
_PAIRS = {")": "(", "]": "[", "}": "{"}
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`|#[^\n]*')


def _promql(text: str) -> str:
    try:
        check_template(text, {WINDOW})
    except InvalidInput as error:
        raise ValueError(str(error)) from error
    if (WINDOW,) not in names_read(text):
        msg = (
            "the query has no `{{ window }}`: write for example sum(rate(http_requests_total[{{ window }}]))"
        )
        raise ValueError(msg)
    waiting: list[str] = []
    for sign in _QUOTED.sub("", render(text, {WINDOW: "5m"})):
        if sign in "([{":
            waiting.append(sign)
        elif sign in _PAIRS and (not waiting or waiting.pop() != _PAIRS[sign]):
            msg = f"the query has a `{sign}` that closes nothing"
            raise ValueError(msg)
    if waiting:
        msg = f"the query has a `{waiting[-1]}` that nothing closes"
        raise ValueError(msg)
    return text


Promql = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(_promql)]


@dataclass(frozen=True, slots=True)
class Asked:
    """A query at one window, ready for Prometheus. ``events`` is None where nothing counts them.

    ``scale`` makes numbers of events of what they give.
    """

    ratio: str
    errors: str | None
    events: str | None
    scale: float


class Query(Model):
    """Either ``total`` with one of ``good`` and ``bad``, or ``errorRatio`` where nothing counts events."""

    good: Promql | None = Field(None, description="good events, with `{{ window }}` for the range")
    bad: Promql | None = Field(None, description="bad events")
    total: Promql | None = Field(None, description="all events")
    error_ratio: Promql | None = Field(
        None, description="the bad share itself: each moment weighs the same, and no events are counted"
    )
    resolution: PositiveDuration = Field(
        60.0,
        description="the shortest window it is asked for: at least four scrapes",
        validate_default=False,
    )

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        sides = [text for text in (self.good, self.bad) if text is not None]
        if self.error_ratio is not None:
            if sides or self.total is not None:
                msg = "`errorRatio` stands alone: leave `good`, `bad` and `total` out"
                raise ValueError(msg)
        elif self.total is None or len(sides) != 1:
            msg = "write `total` and one of `good` and `bad`, or `errorRatio` alone"
            raise ValueError(msg)
        return self

    @functools.cached_property
    def key(self) -> str:
        """The name of what it measures: another text is another measure."""
        said = "\n".join(f"{text}" for text in (self.good, self.bad, self.total, self.error_ratio))
        return f"{KEY_PREFIX}{hashlib.sha256(said.encode()).hexdigest()[:12]}"

    def at(self, window: float) -> Asked:
        """Return the texts for a window of so many seconds.

        Without any event there is no share, rather than 0/0; a series of bad or good events that has
        never been seen counts as none.
        """
        names = {WINDOW: promql_duration(window)}
        if self.error_ratio is not None or self.total is None:
            return Asked(f"{render(self.error_ratio, names)}", None, None, 1.0)
        total = render(self.total, names)
        if self.bad is not None:
            errors = f"(\n  ({render(self.bad, names)})\n  or\n  0 * ({total})\n)"
        else:
            good = f"(({render(self.good, names)}) or 0 * ({total}))"
            errors = f"clamp_min(\n  ({total})\n  -\n  {good}\n, 0)"
        return Asked(f"{errors}\n/\n(({total}) > 0)", errors, total, self.scale(window))

    def scale(self, window: float) -> float:
        """Return what turns the texts' values into events: a rate is per second, an increase is not."""
        text = self.total or ""
        counted = "increase(" in text or "_over_time(" in text
        return 1.0 if counted and "rate(" not in text else window


def promql_duration(seconds: float) -> str:
    """Write a duration as Prometheus does: whole weeks as weeks, else days and what is left."""
    millis = round(seconds * 1000)
    parts = []
    for unit, size, exact in _UNITS:
        if not exact or millis % size == 0:
            count, millis = divmod(millis, size)
            parts += [f"{count}{unit}"] if count else []
    whole, millis = divmod(millis, 1000)
    parts += [f"{whole}s"] if whole else []
    parts += [f"{millis}ms"] if millis else []
    return "".join(parts) or "0s"
