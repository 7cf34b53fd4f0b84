"""HTTP calls of playbooks: to hosts of the allow-list, at an address that was judged.

By the same rules as webhooks: link-local and metadata addresses are never called, redirects are
not followed, no proxy is asked. Without a list nothing may be called.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

import httpx

from controlplane.kernel.errors import Ambiguous, InvalidInput, Unavailable
from controlplane.model.ports import HttpAnswer, HttpCall
from controlplane.notify.addresses import Destination, Resolve, destination, resolve

TIMEOUT = httpx.Timeout(connect=1.5, write=0.5, read=3.0, pool=0.0)
"""Seconds for each phase; 5 together, shorter than a lease."""

MAX_BODY = 16 * 1024
"""Bytes of an answer that are kept."""

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class AllowedWeb:
    """Implements `controlplane.model.ports.Web`. Safe between threads. ``hosts``: patterns of host names."""

    def __init__(
        self,
        hosts: Sequence[str],
        *,
        resolver: Resolve = resolve,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._hosts = tuple(hosts)
        self._resolver = resolver
        # A bare transport: a client would write each URL into its log.
        self._transport = transport or httpx.HTTPTransport(trust_env=False)

    def close(self) -> None:
        """Close the connections; nothing can be called any more."""
        self._transport.close()

    def call(self, call: HttpCall, *, key: str) -> HttpAnswer:
        where = destination(call.url, hosts=self._hosts, resolver=self._resolver)
        request = _request(call, where, key)
        try:
            response = self._transport.handle_request(request)
            try:
                return HttpAnswer(status=response.status_code, body=_beginning(response))
            finally:
                response.close()
        except _NEVER_SENT as error:
            msg = f"{where.host} cannot be reached, nothing was sent: {type(error).__name__}"
            raise Unavailable(msg) from error
        except httpx.RequestError as error:
            msg = f"{where.host} did not answer: {type(error).__name__}"
            raise Ambiguous(msg) from error


def _beginning(response: httpx.Response) -> str:
    kept = b""
    for chunk in response.iter_bytes():
        kept += chunk
        if len(kept) >= MAX_BODY:
            break
    return kept[:MAX_BODY].decode(errors="replace")


def _request(call: HttpCall, where: Destination, key: str) -> httpx.Request:
    parts = urlsplit(call.url)
    address = f"[{where.address}]" if ":" in where.address else where.address
    headers = {"Host": where.authority, "Idempotency-Key": key, "User-Agent": "fleetward"}
    if call.body is not None:
        headers["Content-Type"] = call.content_type
    try:
        return httpx.Request(
            call.method,
            urlunsplit((parts.scheme, f"{address}:{where.port}", parts.path or "/", parts.query, "")),
            content=None if call.body is None else call.body.encode(),
            headers=headers,
            # The connection goes to an address; the certificate must be the host's.
            extensions={"timeout": TIMEOUT.as_dict(), "sni_hostname": where.host},
        )
    except (httpx.InvalidURL, UnicodeError) as error:
        msg = f"the address of {where.host} is not a URL"
        raise InvalidInput(msg) from error
