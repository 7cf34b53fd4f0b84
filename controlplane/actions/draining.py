"""How actions wait until what is under way on replicas is over, once no new requests come.

Where the platform cannot tell how many requests are inside, the whole time is waited: silence is
not emptiness. It ends no request.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from pydantic import Field

from controlplane.actions import replicas
from controlplane.model.action import ActionContext
from controlplane.model.base import Duration, Model
from controlplane.model.target import Target

LOOK_EVERY = 1.0
"""Seconds between looks at what is under way."""


class DrainingParameters(Model):
    """How long is waited, and what it means when requests are left then."""

    within: Duration = Field(
        60.0, gt=0, description="how long requests under way may take", validate_default=False
    )
    on_timeout: Literal["pass", "fail"] = Field(
        "pass", description="what it means when requests are left then: go on without them, or fail"
    )


@dataclass(frozen=True, slots=True)
class Look:
    """``requests``: how many are left, None when it is not known. ``over``: there is no need to wait on."""

    requests: int | None
    over: bool
    words: str


def look(targets: Collection[Target], out_since: datetime, within: float, context: ActionContext) -> Look:
    """Tell how far the draining of ``targets`` is, which are out of rotation since ``out_since``.

    What was seen before that moment says nothing: a request may have come in between.
    """
    topology = replicas.topology(context)
    seen = {place: view.requests for place, view in topology.replicas() if place in targets}
    waited = (context.clock.now() - out_since).total_seconds()
    known = [count for count in seen.values() if count is not None]
    fresh = topology.observed_at > out_since and len(known) == len(seen)
    left = sum(known) if fresh else None
    if left == 0:
        return Look(0, True, "no request is under way")
    said = "it is not known how many requests are" if left is None else f"{left} requests are"
    return Look(left, waited >= within, f"{said} under way after {waited:.0f} s")
