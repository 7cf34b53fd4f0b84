"""Validating what an operator writes."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from controlplane.model.base import Model
from controlplane.model.records import Record

MAX_TEXT = 1024 * 1024


class ValidateRequest(Model):
    """One file's text; it may hold several documents."""

    text: str = Field(max_length=MAX_TEXT)
    file: str = Field(default="playbook.yaml", max_length=200)


class PlanRequest(Model):
    """On what a playbook would be started, and with which inputs."""

    target: str = Field(max_length=300, description="service/cluster/zone/node/replica, as far as needed")
    inputs: dict[str, Any] = Field(default_factory=dict)


class Diagnostic(Record):
    """One mistake; line and column count from 1."""

    file: str
    line: int
    column: int
    path: str
    message: str
    suggestion: str | None = None


class Finding(Diagnostic):
    """A mistake, or with severity `warning` a doubt; ``code`` names the check that found it and is stable."""

    code: str = "invalid"
    severity: Literal["error", "warning"] = "error"


class ValidateResult(Model):
    """``valid`` when no diagnostic is an error."""

    valid: bool
    diagnostics: tuple[Finding, ...]
