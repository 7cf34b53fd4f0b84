"""Messages as one HTTP POST of JSON: to a channel of the policy (which may be the log), or to an address.

At least once: whoever receives can tell a repetition by the ``Idempotency-Key`` header. Channels
may name secrets, ``${env:NAME}``, which are filled in here and appear nowhere else; addresses
given by playbooks may not. Redirects are not followed, since they lead where nobody has looked.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit, urlunsplit

import httpx
import structlog

from controlplane.kernel.errors import InvalidInput, Refused, Unavailable
from controlplane.kernel.registry import did_you_mean
from controlplane.model.ports import Notification
from controlplane.notify.addresses import Destination, Resolve, destination, resolve

TIMEOUT = httpx.Timeout(connect=1.5, write=0.5, read=3.0, pool=0.0)
"""Seconds for each phase; 5 together, shorter than a lease."""

LOG = "log:"
"""What stands in for a URL where messages go to the log."""

log = structlog.get_logger(__name__)

_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_MAY_MEND = frozenset({408, 425, 429})


class WebhookNotifier:
    """Implements `controlplane.model.ports.Notifier`. Safe between threads.

    ``channels`` is asked at each message for the policy's channels, name to URL or `LOG`; ``hosts`` are
    the patterns of host names that may be called.
    """

    def __init__(
        self,
        channels: Callable[[], Mapping[str, str]],
        *,
        hosts: Sequence[str] = ("*",),
        environment: Mapping[str, str] | None = None,
        resolver: Resolve = resolve,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._channels = channels
        self._hosts = tuple(hosts)
        self._environment = os.environ if environment is None else environment
        self._resolver = resolver
        # A bare transport: a client would write each URL, and so the secret in it, into its log.
        self._transport = transport or httpx.HTTPTransport(trust_env=False)

    def close(self) -> None:
        """Close the connections; nothing can be sent any more."""
        self._transport.close()

    def send(
        self, notification: Notification, *, channel: str | None = None, url: str | None = None, key: str
    ) -> None:
        name = f"channel `{channel}`" if channel is not None else "the webhook"
        target = self._target(channel, url)
        if target == LOG:
            told = {"title": notification.title, "text": notification.text, "severity": notification.severity}
            log.warning("message", channel=channel, key=key, **told, **notification.facts)
            return
        where = destination(target, hosts=self._hosts, resolver=self._resolver)
        request = _request(target, where, notification, key)
        try:
            response = self._transport.handle_request(request)
            response.close()
        except httpx.RequestError as error:
            msg = f"{name} does not answer: {type(error).__name__}"
            raise Unavailable(msg) from error
        _judge(name, response.status_code)

    def _target(self, channel: str | None, url: str | None) -> str:
        if channel is not None and url is None:
            channels = self._channels()
            if channel not in channels:
                msg = f"the policy has no channel `{channel}`"
                raise InvalidInput(msg, hint=did_you_mean(channel, list(channels)))
            return _REFERENCE.sub(self._secret, channels[channel])
        if url is None or channel is not None:
            msg = "a message goes to a channel or to a URL: name one"
            raise InvalidInput(msg)
        if "${" in url:
            msg = "a webhook's address may not refer to secrets"
            raise InvalidInput(msg, hint="make it a channel of the policy")
        return url

    def _secret(self, reference: re.Match[str]) -> str:
        name = reference.group(1)
        try:
            return self._environment[name]
        except KeyError:
            msg = f"the environment variable {name}, which a channel refers to, is not set"
            raise InvalidInput(msg) from None


def _request(url: str, where: Destination, notification: Notification, key: str) -> httpx.Request:
    parts = urlsplit(url)
    address = f"[{where.address}]" if ":" in where.address else where.address
    try:
        return httpx.Request(
            "POST",
            urlunsplit((parts.scheme, f"{address}:{where.port}", parts.path or "/", parts.query, "")),
            json=notification.model_dump(mode="json", by_alias=True),
            headers={"Host": where.authority, "Idempotency-Key": key, "User-Agent": "fleetward"},
            # The connection goes to an address; the certificate must be the host's.
            extensions={"timeout": TIMEOUT.as_dict(), "sni_hostname": where.host},
        )
    except (httpx.InvalidURL, UnicodeError) as error:
        msg = f"the address of {where.host} is not a URL"
        raise InvalidInput(msg) from error


def _judge(name: str, status: int) -> None:
    if 200 <= status < 300:
        return
    if status >= 500 or status in _MAY_MEND:
        msg = f"{name} answers {status}"
        raise Unavailable(msg)
    msg = f"{name} refuses the message: it answers {status}"
    raise Refused(msg, hint="redirects are not followed" if 300 <= status < 400 else None)
