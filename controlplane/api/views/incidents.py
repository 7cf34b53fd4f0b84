"""Incidents as they are listed, and one with the story of what was seen, decided and done."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from controlplane.api.views.runs import RunSummary
from controlplane.model.base import Model
from controlplane.model.records import Decision, Incident


class IncidentList(Model):
    """Newest first. ``total`` counts what matches, also beyond ``items``."""

    items: tuple[Incident, ...]
    total: int


class TimelineEntry(Model):
    """One thing that happened. ``ref`` is the id of the decision, run or incident it tells of."""

    at: datetime
    kind: Literal["state", "decision", "run", "fold"]
    state: str
    title: str
    detail: str = ""
    ref: str | None = None


class IncidentDetail(Model):
    """One incident; the timeline is oldest first."""

    incident: Incident
    timeline: tuple[TimelineEntry, ...]
    decisions: tuple[Decision, ...]
    runs: tuple[RunSummary, ...]
    children: tuple[Incident, ...]
