"""What every request passes first, and every answer last: whose host it was for, and what a browser may do.

A console on loopback is reachable by any web page that the operator opens, through a name
that its owner points at 127.0.0.1 (DNS rebinding). So only requests for a known host are
answered, and there are no CORS headers at all. Pure ASGI: a stream passes through untouched.
"""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from controlplane.api.problems import Problem, ProblemResponse

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})

_POLICY = (
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",  # the component library writes its variables into <style>
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
)

SECURITY_HEADERS = {
    "Content-Security-Policy": "; ".join(_POLICY),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def host_name(host: str) -> str:
    """Return a Host header without its port, lower case; brackets of IPv6 stay."""
    host = host.strip().lower()
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]


class Gate:
    """Refuses unknown hosts with 421, and puts the security headers on every answer."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = LOOPBACK | {host_name(host) for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        host = host_name(Headers(scope=scope).get("host", ""))
        app = self._app if host in self._hosts else _misdirected(host)
        await app(scope, receive, guarded)


def _misdirected(host: str) -> ProblemResponse:
    status = HTTPStatus.MISDIRECTED_REQUEST
    return ProblemResponse(
        Problem(
            title=status.phrase,
            status=status,
            detail=f"this API does not answer for the host {host!r}",
            code="unknown_host",
            hint="use 127.0.0.1 or localhost, or name the host in FLEETWARD_API_HOSTS",
        )
    )
