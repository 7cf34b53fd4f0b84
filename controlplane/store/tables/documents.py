"""What was loaded: every revision of a document, which one holds, and what could not be loaded."""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text

from controlplane.store.columns import json_column as _json
from controlplane.store.columns import name_column as _name
from controlplane.store.columns import text_column as _text
from controlplane.store.columns import time_column as _time
from controlplane.store.tables.schema import metadata

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
