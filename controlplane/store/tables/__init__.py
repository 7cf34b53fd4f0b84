"""The tables, by what they are about.

What a column means is said on the record that is read from it (`controlplane.model.records`); only what no
record shows is explained here. The schema and its tables are imported from here alone, so that none is
missing from it. A test holds them equal to the migrations beside this folder.
"""

from __future__ import annotations

from controlplane.store.tables.documents import active_documents, documents, load_problems
from controlplane.store.tables.fleet import faults, freezes, halts, out_of_service
from controlplane.store.tables.incidents import alerts, decisions, incident_log, incidents, schedules
from controlplane.store.tables.processes import events, leases, snapshots, tokens
from controlplane.store.tables.runs import approvals, attempts, journal, plans, runs, steps, undo_records
from controlplane.store.tables.schema import metadata

__all__ = [
    "active_documents",
    "alerts",
    "approvals",
    "attempts",
    "decisions",
    "documents",
    "events",
    "faults",
    "freezes",
    "halts",
    "incident_log",
    "incidents",
    "journal",
    "leases",
    "load_problems",
    "metadata",
    "out_of_service",
    "plans",
    "runs",
    "schedules",
    "snapshots",
    "steps",
    "tokens",
    "undo_records",
]
