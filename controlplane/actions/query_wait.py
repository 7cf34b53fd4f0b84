"""`query.wait`: hold the run until a number from the metrics meets a condition.

A loop of looks that holds no worker. What cannot be measured meets no condition.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from controlplane.kernel.clock import to_rfc3339
from controlplane.kernel.durations import format_duration
from controlplane.kernel.errors import InvalidInput, Unavailable
from controlplane.kernel.templating import check_expression, evaluate
from controlplane.model.action import Action, ActionContext, Reach
from controlplane.model.base import Duration, Model
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.ports import Metrics


@lru_cache(maxsize=256)
def _condition(source: str) -> str:
    try:
        check_expression(source, {"result"})
    except InvalidInput as error:
        raise ValueError(str(error)) from error
    return source


class WaitParameters(Model):
    """Parameters of `query.wait`."""

    query: str = Field(min_length=1, description="a PromQL query that yields one number")
    condition: Annotated[str, AfterValidator(_condition)] = Field(
        description="an expression over `result`, the query's value; for example `result < 1`"
    )
    interval: Duration = Field(
        5.0, ge=1, le=3600, description="how long to wait between two looks", validate_default=False
    )
    for_: Duration = Field(
        0.0,
        alias="for",
        description="how long the condition must hold without a break",
        validate_default=False,
    )


class QueryWait(Action[WaitParameters]):
    """Wait until a PromQL query's value meets a condition, and has met it for a while if told so.

    The query is asked each `interval`; the step's timeout bounds the wait. A look without data, or
    without an answer from the metrics, does not meet the condition and begins `for` anew. Nothing
    is changed.

    ```yaml
    uses: query.wait
    with: {query: 'sum(vllm:num_requests_waiting)', condition: result < 1, interval: 5s, for: 15s}
    ```
    """

    name = "query.wait"
    parameters = WaitParameters
    reach = Reach.NONE
    outputs: ClassVar = {
        "result": "the value that met the condition",
        "looks": "how often the query was asked",
    }

    def run(self, parameters: WaitParameters, context: ActionContext) -> Outcome:
        looks = int(context.state.get("looks", 0)) + 1
        try:
            value = context.port(Metrics).instant(parameters.query)
            reason = "the query has no data" if value is None else f"the result is {value:g}"
        except Unavailable as error:
            value, reason = None, str(error)
        met = value is not None and evaluate(parameters.condition, {"result": value})
        if not isinstance(met, bool):
            message = f"`{parameters.condition}` is {met!r}: a condition must be true or false"
            return Failed(FailureKind.PERMANENT, message)
        if not met:
            return Again(parameters.interval, {"looks": looks}, f"not yet: {reason}")
        now = context.clock.now()
        since = datetime.fromisoformat(context.state.get("since") or to_rfc3339(now))
        held = (now - since).total_seconds()
        if held >= parameters.for_:
            return Done({"result": value, "looks": looks})
        left = min(parameters.interval, parameters.for_ - held)
        state = {"looks": looks, "since": to_rfc3339(since)}
        return Again(
            left, state, f"{reason}, for {format_duration(held)} of {format_duration(parameters.for_)}"
        )
