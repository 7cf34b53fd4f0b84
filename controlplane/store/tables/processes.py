"""What the processes of the control plane share: events, leases, tokens and snapshots."""

from __future__ import annotations

from sqlalchemy import Column, Index, Integer, Table

from controlplane.store.columns import json_column as _json
from controlplane.store.columns import name_column as _name
from controlplane.store.columns import text_column as _text
from controlplane.store.columns import time_column as _time
from controlplane.store.tables.schema import metadata

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _time("at", required=True),
    _name("type"),
    _name("ref"),
    Index(None, "at"),
    sqlite_autoincrement=True,  # an id that was handed out never names another event
)

leases = Table(
    "leases",
    metadata,
    _name("name", primary_key=True),
    _name("owner"),
    _time("until", required=True),
    Column("fence", Integer, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    _name("digest", primary_key=True),
    _name("kind"),
    _name("name"),
    _time("created_at", required=True),
    _time("expires_at"),
    _time("used_at"),
    _name("role"),
    _text("parent", None),  # of a session: the token that it was begun with
    _text("created_by"),
)
Index(
    "uq_tokens_api_name",
    tokens.c.name,
    unique=True,
    sqlite_where=tokens.c.kind == "api",
    postgresql_where=tokens.c.kind == "api",
)

snapshots = Table(
    "snapshots",
    metadata,
    _name("name", primary_key=True),
    _text("service", "", primary_key=True),
    _time("at", required=True),
    _json("body"),
)
