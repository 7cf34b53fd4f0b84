"""Who may change something: tokens, sessions, and proof that a page of ours asked.

Tokens are 256 random bits, kept as SHA-256: there is nothing to guess, so no slow hash is
needed. A browser's session is an HttpOnly, SameSite=Strict cookie; a write with it also
needs ``X-CSRF-Token``, which is derived from the session's secret and so needs no table.
A bearer token needs neither: no browser sends it on its own.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import Depends, Request, Response

from controlplane.api.gate import host_name
from controlplane.api.problems import SignedOut
from controlplane.api.services import Services
from controlplane.kernel.errors import Conflict, InvalidInput, NotAllowed
from controlplane.model.base import NAME_PATTERN
from controlplane.model.identity import Role
from controlplane.store.tokens import TokenKind
from controlplane.store.transaction import Transaction

COOKIE = "fleetward_session"
CSRF_HEADER = "X-CSRF-Token"
LOGIN_SECONDS = 600.0
ADMIN = "admin"
"""Whose name the admin token carries."""


def new_secret() -> str:
    """Return 256 random bits, safe in a URL."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Return what is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def csrf_token(session_secret: str) -> str:
    """Return the token that proves that a page of this session asked."""
    return hmac.digest(session_secret.encode(), b"fleetward csrf", "sha256").hex()


def issue_admin_token(tx: Transaction, name: str = ADMIN) -> str:
    """Keep a new admin token, and return its secret: the one time that it can be seen."""
    secret = new_secret()
    tx.tokens.add(digest(secret), "admin", name)
    return secret


def issue_login_token(tx: Transaction, name: str = ADMIN) -> str:
    """Return the secret of a sign-in link, ``/#token=...``: good once, for ten minutes."""
    secret = new_secret()
    tx.tokens.add(digest(secret), "login", name, tx.now + timedelta(seconds=LOGIN_SECONDS))
    return secret


def issue_api_token(tx: Transaction, name: str, role: Role, expires_at: datetime, *, by: str) -> str:
    """Keep a new named token, and return its secret: the one time that it can be seen.

    Raises `Conflict` while another one of that name is good.
    """
    if re.fullmatch(NAME_PATTERN, name) is None or name == ADMIN:
        hint = f"lower case letters, digits and dashes; `{ADMIN}` is the admin token's"
        raise InvalidInput(f"`{name}` is no name for a token", hint=hint)
    if any(each.name == name for each in tx.tokens.of_kind("api")):
        raise Conflict(f"there is a token `{name}` already", hint=f"fleetward token revoke {name}")
    tx.tokens.revoke(name)  # one that has expired and is not swept yet
    secret = new_secret()
    tx.tokens.add(digest(secret), "api", name, expires_at, role=role, by=by)
    return secret


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
    role: Role
    expires_at: datetime | None
    session: str | None


def caller(request: Request, services: Given) -> Caller | None:
    """Return who asks, or None. An unknown or expired token is nobody, not an error."""
    scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return _find(services, bearer.strip(), "admin", "api")
    cookie = request.cookies.get(COOKIE)
    return _find(services, cookie, "session") if cookie else None


def _find(services: Services, secret: str, *kinds: TokenKind) -> Caller | None:
    with services.database.reading() as tx:
        token = tx.tokens.find(digest(secret))
    if token is None or token.kind not in kinds:
        return None
    session = secret if token.kind == "session" else None
    return Caller(token.name, token.role, token.expires_at, session)


MaybeCaller = Annotated[Caller | None, Depends(caller)]


def writer(request: Request, who: MaybeCaller) -> Caller:
    """Return who may change something; raise `SignedOut`, or `NotAllowed` without proof of our page."""
    if who is None:
        raise SignedOut("this needs a token", hint="sign in, or send it as a bearer token")
    if who.session is not None:
        require_own_page(request)
        given = request.headers.get(CSRF_HEADER, "")
        if not hmac.compare_digest(given.encode(), csrf_token(who.session).encode()):
            raise NotAllowed(f"{CSRF_HEADER} is missing or not of this session", hint="load the page again")
    return who


Writer = Annotated[Caller, Depends(writer)]
"""Whoever is signed in, in any role."""


def at_least(needed: Role) -> Callable[[Caller], Caller]:
    """Return a dependency: who writes, in a role that covers ``needed``, or `NotAllowed`."""

    def check(who: Writer) -> Caller:
        if not who.role.covers(needed):
            raise NotAllowed(f"this needs the role {needed}; {who.name} is {who.role}")
        return who

    return check


Operator = Annotated[Caller, Depends(at_least(Role.OPERATOR))]


def issue_alert_token(tx: Transaction, name: str = "alertmanager") -> str:
    """Keep a token that may send alerts and nothing else, and return its secret."""
    secret = new_secret()
    tx.tokens.add(digest(secret), "alerts", name, role=Role.VIEWER)
    return secret


def alert_sender(request: Request, services: Given) -> str:
    """Return the name of whoever may send alerts: by bearer token, or as the password of basic auth."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    secret = given.strip() if scheme.lower() == "bearer" else ""
    if scheme.lower() == "basic":
        try:
            secret = base64.b64decode(given, validate=True).decode().partition(":")[2]
        except ValueError:
            secret = ""
    with services.database.reading() as tx:
        token = tx.tokens.find(digest(secret)) if secret else None
    if token is None or token.kind != "alerts":
        raise SignedOut(
            "this needs the token for alerts",
            hint="`fleetward alert-token` makes one; send it as bearer token or as basic auth's password",
        )
    return token.name


AlertSender = Annotated[str, Depends(alert_sender)]


def require_own_page(request: Request) -> None:
    """Raise `NotAllowed` when a browser says that another site's page sent this."""
    origin = request.headers.get("origin")
    if origin is None:
        return
    if host_name(origin.partition("://")[2]) != host_name(request.headers.get("host", "")):
        raise NotAllowed(f"a page of {origin} may not do this")


def start_session(response: Response, services: Services, token: str) -> Caller:
    """Exchange an admin's, an API or a login token for a session, and put its cookie on ``response``.

    The session has the token's name and role, and ends no later than it. Raises `SignedOut`
    for any other token. A login token is ended in the same transaction that begins the
    session: of two callers one gets it.
    """
    secret, key = new_secret(), digest(token)
    lifetime = services.settings.session_seconds
    with services.database.transaction() as tx:
        found = tx.tokens.take(key, "login") or tx.tokens.find(key)
        if found is None or found.kind in {"session", "alerts"}:
            raise SignedOut(
                "this token is unknown, used up or expired",
                hint="`fleetward login` prints a new sign-in link",
            )
        expires_at = tx.now + timedelta(seconds=lifetime)
        if found.kind == "api" and found.expires_at is not None:
            expires_at = min(expires_at, found.expires_at)
        tx.tokens.add(digest(secret), "session", found.name, expires_at, role=found.role, parent=key)
    response.set_cookie(
        COOKIE,
        secret,
        max_age=int(lifetime),
        path="/api",
        httponly=True,
        samesite="strict",
        secure=services.settings.secure_cookie,
    )
    return Caller(found.name, found.role, expires_at, secret)


def end_session(response: Response, services: Services, who: Caller) -> None:
    """End the caller's session, if it is one, and take the cookie back."""
    if who.session is not None:
        with services.database.transaction() as tx:
            tx.tokens.drop(digest(who.session))
    response.delete_cookie(COOKIE, path="/api", httponly=True, samesite="strict")
