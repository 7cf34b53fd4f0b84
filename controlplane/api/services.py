"""What the API is given: the database, a clock, a judge of documents, and settings as plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from controlplane.act.byhand import Ask
from controlplane.api.stream import Timing
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Problem
from controlplane.model.preview import PlaybookPlan
from controlplane.store.database import Database


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
    """Everything `create_app` needs. ``validate`` gets (file, text) and returns every mistake and doubt.

    ``schemas`` are the kinds' JSON Schemas by their files' names.
    """

    database: Database
    clock: Clock
    validate: Callable[[str, str], Sequence[Problem]]
    settings: ApiSettings
    schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    plan: Callable[[Ask], PlaybookPlan] | None = None
