"""The tables. What a column means is said on the record that is read from it (`controlplane.model.records`).

Only what no record shows is explained here. A test holds them equal to the migrations beside this file.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, Table, Text

from controlplane.store.columns import JsonValue
from controlplane.store.columns import json_column as _json
from controlplane.store.columns import name_column as _name
from controlplane.store.columns import text_column as _text
from controlplane.store.columns import time_column as _time

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}

metadata = MetaData(naming_convention=NAMING)


def _of_run(**options: Any) -> Column[Any]:
    return Column("run", Text, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False, **options)


documents = Table(
    "documents",
    metadata,
    _name("sha256", primary_key=True),
    _name("kind"),
    _name("name"),
    _json("body"),
    _text("source"),
    _time("loaded_at", required=True),
    Index(None, "kind", "name"),
)

active_documents = Table(
    "active_documents",
    metadata,
    _name("kind", primary_key=True),
    _name("name", primary_key=True),
    Column("sha256", Text, ForeignKey("documents.sha256"), nullable=False),
    _time("since", required=True),
)

load_problems = Table(
    "load_problems",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _name("file"),
    Column("line", Integer, nullable=False),
    Column("column", Integer, nullable=False),
    _text("path"),
    _name("message"),
    _text("suggestion", None),
    _time("at", required=True),
)

runs = Table(
    "runs",
    metadata,
    _name("id", primary_key=True),
    _name("kind"),
    _name("name"),
    _name("service"),
    _text("target", None),
    _text("signal", None),
    _text("incident", None),
    _name("trigger"),
    _name("started_by"),
    _name("state"),
    _text("reason"),
    _text("waiting"),
    _json("inputs"),
    _json("scope"),
    _json("pins"),
    _text("group", None),
    Column("fence", Integer, nullable=False, default=0),
    _text("lease_owner", None),
    _time("lease_until"),
    _time("due_at"),
    _time("sent_at"),  # when a message with this id was last given to the carrier
    Column("wanted", Integer, nullable=False, default=0),  # how often somebody has made a step due
    _text("stop", None),
    _text("stop_reason"),
    Column("stop_undo", Boolean, nullable=False, default=True),
    _text("paused", None),
    _text("retry_of", None),
    _text("undo_of", None),
    _text("cause", None),
    _text("ending", None),  # the final state that undo and escalation lead to
    _time("effect_at"),
    _time("created_at", required=True),
    _time("started_at"),
    _time("ended_at"),
    _json("result"),
    _json("progress"),  # what verification, undo and escalation remember between two turns
    Index(None, "due_at"),
    Index(None, "created_at"),
    Index(None, "group", "state"),
    Index(None, "incident"),
    Index(None, "name", "created_at"),
    Index("uq_runs_retry_of", "retry_of", unique=True),
)
Index(
    "uq_runs_active_undo_of",
    runs.c.undo_of,
    unique=True,
    sqlite_where=runs.c.ended_at.is_(None),
    postgresql_where=runs.c.ended_at.is_(None),
)

steps = Table(
    "steps",
    metadata,
    _of_run(primary_key=True),
    _name("id", primary_key=True),
    Column("position", Integer, nullable=False),
    Column("item_index", Integer),
    Column("item", JsonValue),
    _name("uses"),
    _name("state"),
    Column("attempt", Integer, nullable=False, default=0),
    _json("parameters"),
    _json("resume_state"),
    _json("outputs"),
    _text("error"),
    _time("due_at"),
    _time("blocked_at"),  # since when guards or a halt keep it from starting
    _time("started_at"),
    _time("ended_at"),
)

attempts = Table(
    "attempts",
    metadata,
    _of_run(primary_key=True),
    _name("step", primary_key=True),
    Column("attempt", Integer, primary_key=True),
    _name("owner"),
    Column("fence", Integer, nullable=False),
    _name("key"),
    _name("outcome"),
    _text("message"),
    Column("calls", Integer, nullable=False, default=1),
    Column("effects", Integer, nullable=False, default=0),  # begun in the latest call
    _time("started_at", required=True),
    _time("ended_at"),
)

journal = Table(
    "journal",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _of_run(),
    _text("step", None),
    _time("at", required=True),
    _name("event"),
    _name("message"),
    _json("data"),
    Index(None, "run", "id"),
    sqlite_autoincrement=True,
)

undo_records = Table(
    "undo_records",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _of_run(),
    _name("step"),
    _name("target"),
    _name("field"),
    Column("before", JsonValue),
    Column("intended", JsonValue),
    Column("applied", JsonValue),
    _name("status"),
    _text("detail"),
    _time("at", required=True),
    Index("uq_undo_records_field", "run", "step", "target", "field", unique=True),
    sqlite_autoincrement=True,
)

approvals = Table(
    "approvals",
    metadata,
    _name("id", primary_key=True),
    _of_run(),
    _text("step"),  # empty: the run itself
    _name("text"),
    Column("roles", JsonValue, nullable=False, default=list),
    _name("on_timeout"),
    _time("requested_at", required=True),
    _time("expires_at", required=True),
    _text("decision", None),
    _time("decided_at"),
    _text("decided_by"),
    _text("comment"),
    _json("preview"),
    Index("uq_approvals_run_step", "run", "step", unique=True),
    Index(None, "decision", "expires_at"),
)

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
