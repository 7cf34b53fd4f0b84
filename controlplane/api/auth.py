"""Who may change something: tokens, sessions, and proof that a page of ours asked.

Tokens are 256 random bits, kept as SHA-256: there is nothing to guess, so no slow hash is
needed. A browser's session is an HttpOnly, SameSite=Strict cookie; a write with it also
needs ``X-CSRF-Token``, which is derived from the session's secret and so needs no table.
A bearer token needs neither: no browser sends it on its own.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import Depends, Request, Response

from controlplane.api.gate import host_name
from controlplane.api.problems import SignedOut
from controlplane.api.services import Services, Token
from controlplane.kernel.errors import NotAllowed

COOKIE = "fleetward_session"
CSRF_HEADER = "X-CSRF-Token"
LOGIN_SECONDS = 600.0


def new_secret() -> str:
    """Return 256 random bits, safe in a URL."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Return what is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def csrf_token(session_secret: str) -> str:
    """Return the token that proves that a page of this session asked."""
    return hmac.digest(session_secret.encode(), b"fleetward csrf", "sha256").hex()


def login_token(secret: str, at: datetime) -> Token:
    """Return the single-use token of a sign-in link, good for ten minutes."""
    return Token(
        digest=digest(secret),
        kind="login",
        name="admin",
        expires_at=at + timedelta(seconds=LOGIN_SECONDS),
    )


def services_of(request: Request) -> Services:
    """Return what the app was created with."""
    services = request.app.state.services
    assert isinstance(services, Services)  # noqa: S101  create_app put it there
    return services


Given = Annotated[Services, Depends(services_of)]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is signed in; ``session`` is the cookie's secret, None for a bearer token."""

    name: str
    expires_at: datetime | None
    session: str | None


def caller(request: Request, services: Given) -> Caller | None:
    """Return who asks, or None. An unknown or expired token is nobody, not an error."""
    at = services.clock.now()
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        token = services.tokens.find_token(digest(bearer.strip()), at)
        if token is None or token.kind != "admin":
            return None
        return Caller(token.name, token.expires_at, None)
    cookie = request.cookies.get(COOKIE)
    token = services.tokens.find_token(digest(cookie), at) if cookie else None
    if token is None or token.kind != "session":
        return None
    return Caller(token.name, token.expires_at, cookie)


MaybeCaller = Annotated[Caller | None, Depends(caller)]


def writer(request: Request, who: MaybeCaller) -> Caller:
    """Return who may change something; raise `SignedOut`, or `NotAllowed` without proof of our page."""
    if who is None:
        raise SignedOut("this needs the admin token", hint="sign in, or send it as a bearer token")
    if who.session is not None:
        require_own_page(request)
        given = request.headers.get(CSRF_HEADER, "")
        if not hmac.compare_digest(given.encode(), csrf_token(who.session).encode()):
            raise NotAllowed(f"{CSRF_HEADER} is missing or not of this session", hint="load the page again")
    return who


Writer = Annotated[Caller, Depends(writer)]


def require_own_page(request: Request) -> None:
    """Raise `NotAllowed` when a browser says that another site's page sent this."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    if host_name(origin.partition("://")[2]) != host_name(request.headers.get("host", "")):
        raise NotAllowed(f"a page of {origin} may not do this")


def start_session(response: Response, services: Services, name: str) -> Caller:
    """Create a session, put its cookie on ``response``, and return the caller it makes."""
    at = services.clock.now()
    secret = new_secret()
    lifetime = services.settings.session_seconds
    expires_at = at + timedelta(seconds=lifetime)
    token = Token(digest=digest(secret), kind="session", name=name, expires_at=expires_at)
    services.tokens.add_token(token, at)
    response.set_cookie(
        COOKIE,
        secret,
        max_age=int(lifetime),
        path="/api",
        httponly=True,
        samesite="strict",
        secure=services.settings.secure_cookie,
    )
    return Caller(name, expires_at, secret)


def end_session(response: Response, services: Services, who: Caller) -> None:
    """End the caller's session, if it is one, and take the cookie back."""
    if who.session is not None:
        services.tokens.drop_token(digest(who.session))
    response.delete_cookie(COOKIE, path="/api", httponly=True, samesite="strict")
