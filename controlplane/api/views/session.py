"""Signing in and out."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from controlplane.model.base import Model
from controlplane.model.identity import Role


class ExchangeRequest(Model):
    """The admin token, a named one, or a single-use token from a sign-in link."""

    token: str = Field(min_length=16, max_length=200)


class SessionView(Model):
    """Who asks. ``csrf_token`` goes into ``X-CSRF-Token`` of every request that changes something."""

    signed_in: bool
    name: str | None = None
    role: Role | None = None
    expires_at: datetime | None = None
    csrf_token: str | None = None
