"""What the API is given: the database, a clock, a judge of documents, and settings as plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from controlplane.act.byhand import Ask
from controlplane.api.stream import Timing
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Problem
from controlplane.model.preview import PlaybookPlan
from controlplane.model.records import Run
from controlplane.model.rehearsal import CaseResult
from controlplane.store.database import Database

Files = Sequence[tuple[str, str]]
"""Texts by the names of their files."""


class ByHand(Protocol):
    """Plans and starts playbooks for people, as `controlplane.act.byhand.Hand` does."""

    def plan(self, ask: Ask) -> PlaybookPlan: ...

    def start(self, ask: Ask) -> Run: ...


class Author(Protocol):
    """What a writer of playbooks needs beside a check."""

    def rehearse(self, files: Files) -> Sequence[CaseResult]:
        """Play the tests among the files, and return each case's result."""
        ...

    def begin(self, name: str) -> Mapping[str, str]:
        """Return the texts of a new playbook and its test, by their files' names."""
        ...


@dataclass(frozen=True, slots=True)
class ApiSettings:
    """Values that bootstrap or an entry point reads from the settings.

    ``console``: the folder of the built console, None serves the API alone. ``hosts`` are
    answered beside loopback. ``secure_cookie``: the console is reached by https.
    """

    environment: str
    version: str
    console: Path | None = None
    hosts: tuple[str, ...] = ()
    secure_cookie: bool = False
    session_seconds: float = 12 * 3600.0
    stream: Timing = field(default_factory=Timing)


@dataclass(frozen=True, slots=True)
class Services:
    """Everything `create_app` needs. ``check`` returns every mistake and doubt of texts, looked at together.

    ``schemas`` are the kinds' JSON Schemas by their files' names. ``author`` has what writers of
    playbooks need; ``hand`` what plans and starts them, None where no platform is known.
    """

    database: Database
    clock: Clock
    check: Callable[[Files], Sequence[Problem]]
    settings: ApiSettings
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    hand: ByHand | None = None
    author: Author | None = None
