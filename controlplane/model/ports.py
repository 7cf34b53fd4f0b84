"""What runs ask of the outside beside the platform: numbers, messages to people, halts, freezes, HTTP calls.

Protocols only; `controlplane.bootstrap` picks who implements them, and hands them to
actions through ``context.port``. `SignalReader` stands beside the contract of a step in
`controlplane.model.action`, since guards and verifications read it too.
"""

from __future__ import annotations

from typing import Literal, Protocol, TypeVar

from pydantic import Field

from controlplane.model.base import Model
from controlplane.model.records import Freeze, Halt

Severity = Literal["info", "warning", "critical"]
S = TypeVar("S", bound=Halt | Freeze)


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


class Stops(Protocol[S]):
    """Port: what stops something for a time, kept where those look who are stopped."""

    def add(self, stop: S, /) -> S:
        """Put a stop in force; one with its id that is there already is left and returned as it stands."""
        ...

    def get(self, stop_id: str, /) -> S | None:
        """Return a stop, lifted or not; None when there never was one."""
        ...

    def lift(self, stop_id: str, /) -> S:
        """End a stop; lifting a lifted one changes nothing. Raises `NotFound`."""
        ...


class Halts(Stops[Halt], Protocol):
    """Port: stops of automation; every run looks before each step."""


class Freezes(Stops[Freeze], Protocol):
    """Port: freezes of a service's changes; guards and drills look."""


class HttpCall(Model):
    """One request to somewhere outside."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    url: str
    body: str | None = None
    content_type: str = "application/json"


class HttpAnswer(Model):
    """What came back: the status, and the body's beginning as text."""

    status: int
    body: str


class Web(Protocol):
    """Port: a call to a host that the settings allow; never to link-local or metadata addresses."""

    def call(self, call: HttpCall, *, key: str) -> HttpAnswer:
        """Send once, with ``key`` as the ``Idempotency-Key``, and return whatever status was answered.

        Raises `InvalidInput` for what is no URL, `Refused` for a host or an address that may not be
        called, `Unavailable` when nothing was sent, and `Ambiguous` when no answer came.
        """
        ...


class Engines(Protocol):
    """Port: a prompt to one engine, past the gateway."""

    def complete(self, address: str, *, model: str, prompt: str, max_tokens: int) -> None:
        """Let the engine at ``address`` answer ``prompt``; nobody reads the answer.

        Raises `Refused` when the engine will not have the prompt, and `Unavailable` when it does not
        answer. To ask again does no harm.
        """
        ...
