"""What writers of playbooks send, and what they are told."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from controlplane.model.base import Model
from controlplane.model.records import Record
from controlplane.model.rehearsal import CaseResult

MAX_TEXT = 1024 * 1024


class ValidateRequest(Model):
    """One file's text; it may hold several documents."""

    text: str = Field(max_length=MAX_TEXT)
    file: str = Field(default="playbook.yaml", max_length=200)


class FileText(Model):
    """One file by its name and its text."""

    file: str = Field(min_length=1, max_length=200)
    text: str = Field(max_length=MAX_TEXT)


class FilesRequest(Model):
    """A folder, as the files in it."""

    files: tuple[FileText, ...] = Field(min_length=1, max_length=64)

    @property
    def texts(self) -> list[tuple[str, str]]:
        return [(each.file, each.text) for each in self.files]


class StartRequest(Model):
    """On what a playbook is started, with which inputs, and why."""

    target: str = Field(max_length=300, description="service/cluster/zone/node/replica, as far as needed")
    inputs: dict[str, Any] = Field(default_factory=dict)
    reason: str = Field("", max_length=500, description="written into the run's journal")


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


class RehearsalResult(Model):
    """``passed`` and ``failed`` count cases; none is played while a file is not valid."""

    valid: bool
    diagnostics: tuple[Finding, ...]
    passed: int = 0
    failed: int = 0
    cases: tuple[CaseResult, ...] = ()


class FormatResult(Model):
    """The text in the one layout."""

    text: str
    changed: bool
