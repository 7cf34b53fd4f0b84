"""Signing in with a token, signing out, and who is signed in."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from controlplane.api.auth import (
    Caller,
    Given,
    MaybeCaller,
    Writer,
    csrf_token,
    end_session,
    require_own_page,
    start_session,
)
from controlplane.api.problems import SignedOut, responses
from controlplane.api.views.session import ExchangeRequest, SessionView
from controlplane.kernel.errors import InvalidInput, NotAllowed

router = APIRouter(prefix="/auth", tags=["session"])


def _view(who: Caller | None) -> SessionView:
    if who is None:
        return SessionView(signed_in=False)
    csrf = csrf_token(who.session) if who.session is not None else None
    return SessionView(
        signed_in=True, name=who.name, role=who.role, expires_at=who.expires_at, csrf_token=csrf
    )


@router.post("/exchange", responses=responses(SignedOut, NotAllowed, InvalidInput))
def exchange(body: ExchangeRequest, request: Request, response: Response, services: Given) -> SessionView:
    """Exchange the admin token or a sign-in link's token for a session cookie."""
    require_own_page(request)
    return _view(start_session(response, services, body.token))


@router.post("/logout", responses=responses(SignedOut, NotAllowed))
def logout(response: Response, services: Given, who: Writer) -> SessionView:
    """End this session."""
    end_session(response, services, who)
    return _view(None)


@router.get("/me")
def me(who: MaybeCaller) -> SessionView:
    """Tell who asks; nobody is an answer, not an error."""
    return _view(who)
