"""What is kept out of service, broken on purpose, or not to be touched."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table

from controlplane.store.columns import JsonValue
from controlplane.store.columns import json_column as _json
from controlplane.store.columns import name_column as _name
from controlplane.store.columns import text_column as _text
from controlplane.store.columns import time_column as _time
from controlplane.store.tables.schema import metadata

out_of_service = Table(
    "out_of_service",
    metadata,
    _name("target", primary_key=True),
    _name("dimension", primary_key=True),
    _name("holder", primary_key=True),
    _time("since", required=True),
    _text("reason"),
    Index(None, "holder"),
)

faults = Table(
    "faults",
    metadata,
    _name("id", primary_key=True),
    _name("kind"),
    _name("drill"),
    _text("run", None),
    _name("service"),
    Column("targets", JsonValue, nullable=False, default=list),
    _name("state"),
    _json("parameters"),
    _json("undo"),
    _time("expires_at", required=True),
    _time("created_at", required=True),
    _time("injected_at"),
    _time("verified_at"),
    _time("cleared_at"),
    _text("detail"),
    Index(None, "run"),
    Index(None, "state", "expires_at"),
)

halts = Table(
    "halts",
    metadata,
    _name("id", primary_key=True),
    _text("service", None),
    _text("zone", None),
    _text("target", None),
    _name("reason"),
    _name("by"),
    _time("created_at", required=True),
    _time("expires_at"),
    _time("lifted_at"),
    Index(None, "lifted_at", "expires_at"),
)

freezes = Table(
    "freezes",
    metadata,
    _name("id", primary_key=True),
    _name("service"),
    _name("reason"),
    _name("by"),
    _text("incident", None),
    _time("created_at", required=True),
    _time("expires_at", required=True),
    _time("lifted_at"),
    Index(None, "service", "expires_at"),
)
