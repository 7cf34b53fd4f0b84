"""What was noticed, and what was decided on it."""

from __future__ import annotations

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, Table, Text

from controlplane.store.columns import JsonValue
from controlplane.store.columns import json_column as _json
from controlplane.store.columns import name_column as _name
from controlplane.store.columns import text_column as _text
from controlplane.store.columns import time_column as _time
from controlplane.store.tables.schema import metadata

incidents = Table(
    "incidents",
    metadata,
    _name("id", primary_key=True),
    _name("signal"),
    _name("service"),
    _name("target"),
    _name("state"),
    _name("severity"),
    _text("tier"),
    _name("title"),
    _text("parent", None),
    _time("opened_at", required=True),
    _time("fired_at"),
    _time("mitigated_at"),
    _time("resolved_at"),
    _time("changed_at", required=True),
    _time("calm_since"),
    Column("value", Float),
    Column("objective", Float),
    _text("detail"),
    Index(None, "opened_at"),
    Index(None, "parent"),
)
Index(
    "uq_incidents_open_signal",
    incidents.c.signal,
    unique=True,
    sqlite_where=incidents.c.resolved_at.is_(None),
    postgresql_where=incidents.c.resolved_at.is_(None),
)

incident_log = Table(
    "incident_log",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("incident", Text, ForeignKey("incidents.id", ondelete="CASCADE"), nullable=False),
    _time("at", required=True),
    _name("state"),
    _text("message"),
    Index(None, "incident", "id"),
)

alerts = Table(
    "alerts",
    metadata,
    _name("fingerprint", primary_key=True),
    _time("starts_at", required=True, primary_key=True),
    _name("status"),
    _time("ends_at"),
    _json("labels"),
    _json("annotations"),
    _text("receiver"),
    _time("received_at", required=True),
    _time("seen_at", required=True),
    _text("detail"),
    Index(None, "status", "ends_at"),
)

decisions = Table(
    "decisions",
    metadata,
    _name("id", primary_key=True),
    _time("at", required=True),
    _time("last_at", required=True),
    Column("count", Integer, nullable=False, default=1),
    _name("playbook"),
    _name("trigger"),
    _text("signal", None),
    _text("incident", None),
    _name("target"),
    _name("outcome"),
    _text("run", None),
    Column("guards", JsonValue, nullable=False, default=list),
    _json("values"),
    _name("sameness"),  # a digest of all that must be equal for a repetition to be only counted
    Index(None, "sameness", "last_at"),
    Index(None, "last_at"),
    Index(None, "incident"),
    Index(None, "run"),
)

schedules = Table(
    "schedules",
    metadata,
    _name("playbook", primary_key=True),
    _name("trigger", primary_key=True),
    _name("target", primary_key=True),
    _name("service"),
    _time("decided", required=True),
    _text("run", None),
    Index(None, "service"),
)
