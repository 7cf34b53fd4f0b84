"""`http.request`: one call to a host that the settings allow, and a look at what it answers.

For what no action of its own exists: a ticket, a deployment system's hook. It knows no secrets,
and it cannot be undone.
"""

from __future__ import annotations

import json
from typing import Any, ClassVar, Literal

from pydantic import Field

from controlplane.model.action import Action, ActionContext, Change, Dimension, Touch
from controlplane.model.base import Model
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.ports import HttpAnswer, HttpCall, Web

FIELD = "request"
_MAY_MEND = frozenset({408, 425, 429})


class RequestParameters(Model):
    """Parameters of `http.request`."""

    url: str = Field(pattern=r"^https?://", max_length=2000, description="where to; no secrets here")
    method: Literal["GET", "POST", "PUT", "DELETE"] = Field("GET", description="the request's method")
    body: str | dict[str, Any] | list[Any] | None = Field(
        None, description="text as it is; an object or a list is sent as JSON"
    )
    expect: tuple[int, ...] = Field(
        (200, 201, 202, 204), min_length=1, description="statuses that count as done"
    )


class HttpRequest(Action[RequestParameters]):
    """Call a URL, and go on if the status is one of `expect`.

    The host must be on the list `FLEETWARD_OUTGOING_HOSTS`; link-local and metadata addresses are
    refused whatever name leads there, and redirects are not followed. The request carries an
    `Idempotency-Key` that is the same when the step is done again. A call that got no answer is done
    again only if its method allows it (all but POST); then the receiver can tell by the key. A status
    of 5xx, 408, 425 or 429 is a failure that a retry may mend. It cannot be undone.

    ```yaml
    uses: http.request
    with:
      url: https://tickets.example.com/api/tickets
      method: POST
      body: {title: "zone-a is evacuated", severity: high}
      expect: [201]
    ```
    """

    name = "http.request"
    parameters = RequestParameters
    idempotent = False
    outputs: ClassVar = {
        "status": "the status that was answered",
        "body": "the answer's beginning: read as JSON where it is JSON, else text",
    }

    def touches(self, parameters: RequestParameters, context: ActionContext) -> list[Touch]:
        return [Touch(context.service.target, Dimension.NOTHING)]

    def plan(self, parameters: RequestParameters, context: ActionContext) -> list[Change]:
        return [self._change(parameters, context)]

    def run(self, parameters: RequestParameters, context: ActionContext) -> Outcome:
        body = parameters.body if parameters.body is None or isinstance(parameters.body, str) else None
        call = HttpCall(
            method=parameters.method,
            url=parameters.url,
            body=json.dumps(parameters.body) if body is None and parameters.body is not None else body,
            content_type="text/plain; charset=utf-8" if body is not None else "application/json",
        )
        with context.effect(self._change(parameters, context)) as tag:
            answer = context.port(Web).call(call, key=tag.key)
        outputs = {"status": answer.status, "body": _read(answer)}
        if answer.status in parameters.expect:
            return Done(outputs)
        may_mend = answer.status >= 500 or answer.status in _MAY_MEND
        kind = FailureKind.TRANSIENT if may_mend else FailureKind.PERMANENT
        expected = ", ".join(map(str, parameters.expect))
        return Failed(kind, f"it answers {answer.status}, not {expected}", outputs)

    def observe(self, parameters: RequestParameters, context: ActionContext) -> Outcome | None:
        """Nobody can tell whether a POST was taken; any other method may be sent again."""
        if parameters.method == "POST":
            return None
        return Again(0.0, dict(context.state), "no answer came: sending it again")

    def _change(self, parameters: RequestParameters, context: ActionContext) -> Change:
        sent = f"{parameters.method} {parameters.url.partition('?')[0]}"
        return Change(context.service.target, FIELD, None, sent)


def _read(answer: HttpAnswer) -> Any:
    try:
        return json.loads(answer.body)
    except ValueError:
        return answer.body
