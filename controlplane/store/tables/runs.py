"""What is being done: runs, their steps and attempts, and what takes back their effects."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Table, Text

from controlplane.store.columns import JsonValue
from controlplane.store.columns import json_column as _json
from controlplane.store.columns import name_column as _name
from controlplane.store.columns import text_column as _text
from controlplane.store.columns import time_column as _time
from controlplane.store.tables.schema import metadata


def _of_run(**options: Any) -> Column[Any]:
    return Column("run", Text, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False, **options)


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

plans = Table(
    "plans",
    metadata,
    Column("run", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    _json("body"),
)
"""What each run executes, `controlplane.act.plan.RunPlan`: written once, no part of a row that changes."""

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
