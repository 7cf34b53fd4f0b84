"""What runs ask of the outside beside the platform: a number from the metrics, a message to people.

Protocols only; `controlplane.bootstrap` picks who implements them, and hands them to
actions through ``context.port``. `SignalReader` stands beside the contract of a step in
`controlplane.model.action`, since guards and verifications read it too.
"""

from __future__ import annotations

from typing import Literal, Protocol

from pydantic import Field

from controlplane.model.base import Model

Severity = Literal["info", "warning", "critical"]


class Metrics(Protocol):
    """Port: one number from a PromQL query, as of now."""

    def instant(self, query: str) -> float | None:
        """Return the value of ``query``, or None when it has no samples (or NaN): no data is not zero.

        Raises `InvalidInput` when the query is not valid or yields more than one series, and
        `Unavailable` when the source does not answer.
        """
        ...


class Notification(Model):
    """One message to people. ``links`` and ``facts`` are shown as they are; no secrets in any of them."""

    title: str = Field(min_length=1, max_length=200)
    text: str = Field("", max_length=4000)
    severity: Severity = "info"
    facts: dict[str, str] = Field(
        default_factory=dict, description="name and value, for example the run's id"
    )


class Notifier(Protocol):
    """Port: carries a message to a channel of the policy, or to a URL."""

    def send(
        self, notification: Notification, *, channel: str | None = None, url: str | None = None, key: str
    ) -> None:
        """Deliver at least once; the receiver can tell a repetition by ``key``.

        Exactly one of ``channel`` (a name of the policy) and ``url`` is given. Raises
        `InvalidInput` for an unknown channel or a URL that is no URL, `Refused` for an address that
        may not be called or a receiver that says no for good, `Unavailable` when a retry may help.
        A receiver that got it and did not answer in time is `Unavailable` too: a message may arrive twice.
        """
        ...
