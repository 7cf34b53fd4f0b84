"""`notify.send`: tell people what happened, or is about to.

Messages go out at least once: after a crash the same message may come again, under the same
idempotency key. It waits for nobody's answer.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from controlplane.model.action import Action, ActionContext, Change, Reach
from controlplane.model.base import Model, Name
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.model.ports import Notification, Notifier, Severity

FIELD = "notification"


class NotifyParameters(Model):
    """Parameters of `notify.send`."""

    channel: Name | None = Field(None, description="a channel of the policy")
    url: str | None = Field(
        None, pattern=r"^https?://", description="or the address of a webhook; no secrets here: use a channel"
    )
    title: str = Field(min_length=1, max_length=200, description="the first line")
    text: str = Field("", max_length=4000, description="the message")
    severity: Severity = Field("info", description="how much it matters")

    @model_validator(mode="after")
    def _goes_to_one_place(self) -> Self:
        if (self.channel is None) == (self.url is None):
            msg = "write either `channel` or `url`"
            raise ValueError(msg)
        return self


class NotifySend(Action[NotifyParameters]):
    """Send a message to a channel of the policy, or to a webhook.

    The message says which run and step it comes from. It is delivered at least once, with the same
    `Idempotency-Key` header each time. A receiver that does not answer is a failure that a retry
    may mend; one that refuses is not. A message cannot be undone.

    ```yaml
    uses: notify.send
    with: {channel: oncall, title: "zone-a is evacuated", severity: warning}
    ```
    """

    name = "notify.send"
    parameters = NotifyParameters
    reach = Reach.NONE
    outputs: ClassVar = {"to": "the channel or the address that took it"}

    def plan(self, parameters: NotifyParameters, context: ActionContext) -> list[Change]:
        return [self._change(parameters, context)]

    def run(self, parameters: NotifyParameters, context: ActionContext) -> Outcome:
        service = context.service.name
        notification = Notification(
            title=parameters.title,
            text=parameters.text,
            severity=parameters.severity,
            facts={"service": service, "run": context.run_id, "step": context.step_id},
        )
        with context.effect(self._change(parameters, context)) as tag:
            context.port(Notifier).send(
                notification, channel=parameters.channel, url=parameters.url, key=tag.key
            )
        return Done({"to": parameters.channel or parameters.url})

    def observe(self, parameters: NotifyParameters, context: ActionContext) -> Outcome:
        """Send again: a message twice is better than none, and the key tells the receiver."""
        return Again(0.0, dict(context.state), "not known to have arrived: sending it again")

    def _change(self, parameters: NotifyParameters, context: ActionContext) -> Change:
        sent: dict[str, Any] = {"to": parameters.channel or parameters.url, "title": parameters.title}
        return Change(context.service.target, FIELD, None, sent)
