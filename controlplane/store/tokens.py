"""Tokens of the API, by the SHA-256 of what was handed out; the secret itself is never stored."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from sqlalchemy import ColumnElement, delete, or_, select, update

from controlplane.model.identity import Role
from controlplane.model.records import Record
from controlplane.store.tables import tokens
from controlplane.store.unit import Repository

TokenKind = Literal["admin", "login", "session", "api", "alerts"]


class TokenRecord(Record):
    """A token as it is kept. ``login`` tokens are good once: ``used_at`` ends them."""

    digest: str
    kind: TokenKind
    name: str
    created_at: datetime
    expires_at: datetime | None = None
    used_at: datetime | None = None
    role: Role
    parent: str | None = None
    created_by: str = ""


class TokenRepository(Repository):
    """``tx.tokens``."""

    def add(
        self,
        digest: str,
        kind: TokenKind,
        name: str,
        expires_at: datetime | None = None,
        *,
        role: Role = Role.ADMIN,
        parent: str | None = None,
        by: str = "",
    ) -> None:
        """Keep a token; a second one of the same digest, or of an API token's name, is a `Conflict`."""
        row = {"digest": digest, "kind": kind, "name": name, "created_at": self.now, "expires_at": expires_at}
        self.unit.add(tokens, **row, role=role.value, parent=parent, created_by=by)

    def revoke(self, name: str) -> bool:
        """End an API token and the sessions begun with it, and tell whether there was one."""
        mine = select(tokens.c.digest).where(tokens.c.kind == "api", tokens.c.name == name)
        digest = self.unit.scalar(mine)
        if digest is None:
            return False
        self.unit.write(delete(tokens).where(or_(tokens.c.digest == digest, tokens.c.parent == digest)))
        return True

    def find(self, digest: str) -> TokenRecord | None:
        """Return the token if it is known, unused and has not expired."""
        row = self.unit.row(select(tokens).where(tokens.c.digest == digest, *self._good()))
        return None if row is None else TokenRecord.model_validate(row)

    def take(self, digest: str, kind: TokenKind = "login") -> TokenRecord | None:
        """Return a token and end it in one step: of two callers one gets it."""
        mine = update(tokens).where(tokens.c.digest == digest, tokens.c.kind == kind, *self._good())
        row = self.unit.row(mine.values(used_at=self.now).returning(tokens))
        return None if row is None else TokenRecord.model_validate(row)

    def of_kind(self, kind: TokenKind) -> list[TokenRecord]:
        """List the good tokens of one kind, newest first."""
        found = (
            select(tokens).where(tokens.c.kind == kind, *self._good()).order_by(tokens.c.created_at.desc())
        )
        return [TokenRecord.model_validate(row) for row in self.unit.rows(found)]

    def drop(self, digest: str) -> bool:
        """End a token, and tell whether there was one."""
        return self.unit.write(delete(tokens).where(tokens.c.digest == digest)) > 0

    def prune(self, before: datetime) -> int:
        """Delete what was used or has expired before that time."""
        return self.unit.write(
            delete(tokens).where(or_(tokens.c.used_at < before, tokens.c.expires_at < before))
        )

    def _good(self) -> tuple[ColumnElement[bool], ...]:
        return (
            tokens.c.used_at.is_(None),
            or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > self.now),
        )
