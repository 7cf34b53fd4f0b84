"""A decision that people make: whether a run may start, or go on past a step that asks.

It is decided once: by a person, by its time being over, or not at all when the run ends first.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, Protocol

from pydantic import Field

from controlplane.model.identity import Role
from controlplane.model.records import Record

ApprovalDecision = Literal["approved", "rejected", "withdrawn"]


class ApprovalRecord(Record):
    """What is asked, of whom, until when, and what came of it.

    ``step`` None: whether the run may start. ``decision`` None while it waits. ``preview``:
    what the run would touch, as it looked when it was asked.
    """

    id: str
    run: str
    step: str | None = None
    text: str
    roles: tuple[Role, ...]
    on_timeout: Literal["deny", "allow"] = "deny"
    requested_at: datetime
    expires_at: datetime
    decision: ApprovalDecision | None = None
    decided_at: datetime | None = None
    decided_by: str = ""
    comment: str = ""
    preview: dict[str, Any] = Field(default_factory=dict)


class Question(Record):
    """What a step or a playbook wants decided."""

    text: str
    roles: tuple[Role, ...] = (Role.APPROVER,)
    timeout: float
    on_timeout: Literal["deny", "allow"] = "deny"


class Approvals(Protocol):
    """Port: asking people from within a step."""

    def ask(self, run: str, step: str, question: Question) -> ApprovalRecord:
        """Ask once, and return how it stands now; its time being over decides it."""
        ...
