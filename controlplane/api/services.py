"""What the API is given: ports for reading and for the few writes, and its settings as plain values.

The store implements the ports; `bootstrap` puts them together. Every port is called in a
thread, and each call opens and ends its own transaction. All times are aware UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from controlplane.api.stream import EventSource, Timing
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Problem
from controlplane.model.base import Mode
from controlplane.model.records import (
    Decision,
    FaultRecord,
    Halt,
    Incident,
    JournalLine,
    OutOfService,
    Record,
    Run,
    RunKind,
    StepRecord,
    UndoView,
)

TokenKind = Literal["admin", "login", "session"]


class Token(Record):
    """A token as it is kept: its SHA-256, never itself. ``login`` tokens are good once."""

    digest: str
    kind: TokenKind
    name: str
    expires_at: datetime | None = None


class Attempt(Record):
    """One attempt at a step, as the engine kept it."""

    step: str
    attempt: int
    fence: int
    key: str
    outcome: str
    message: str
    started_at: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs; None means any. ``active`` True: not final; False: final."""

    kind: RunKind | None = None
    active: bool | None = None
    state: str | None = None
    name: str | None = None
    incident: str | None = None
    ended_after: datetime | None = None
    """Those that are still active, or ended later than this."""


@dataclass(frozen=True, slots=True)
class IncidentFilter:
    """Which incidents; None means any. ``open`` True: not resolved; False: resolved."""

    open: bool | None = None
    state: str | None = None
    target: str | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """Which decisions; None means any."""

    target: str | None = None
    incident: str | None = None
    run: str | None = None


class Reads(EventSource, Protocol):
    """All queries of the API. Lists are newest first, with the total that matches beside them."""

    def ping(self) -> None:
        """Return if the database answers and has the schema this code needs; raise `Unavailable` else."""
        ...

    def snapshot(self, name: str) -> dict[str, Any] | None: ...

    def mode(self) -> Mode:
        """Return the global mode of the policy in force."""
        ...

    def incidents(self, which: IncidentFilter, limit: int) -> tuple[Sequence[Incident], int]: ...

    def incident(self, id_: str) -> Incident:
        """Return one; raise `NotFound`."""
        ...

    def runs(self, which: RunFilter, limit: int) -> tuple[Sequence[Run], int]: ...

    def run(self, id_: str) -> Run:
        """Return one; raise `NotFound`."""
        ...

    def steps(self, run: str) -> Sequence[StepRecord]: ...

    def attempts(self, run: str) -> Sequence[Attempt]: ...

    def journal(self, run: str) -> Sequence[JournalLine]: ...

    def undo_records(self, run: str) -> Sequence[UndoView]: ...

    def decisions(self, which: DecisionFilter, limit: int) -> tuple[Sequence[Decision], int]: ...

    def faults(self, run: str) -> Sequence[FaultRecord]: ...

    def halts(self, at: datetime) -> Sequence[Halt]:
        """Return the halts in force at ``at``, newest first."""
        ...

    def out_of_service(self) -> Sequence[OutOfService]: ...


class Halts(Protocol):
    """The API's writes to automation."""

    def add_halt(self, halt: Halt) -> Halt: ...

    def lift_halt(self, id_: str, at: datetime, by: str) -> Halt:
        """End a halt; raise `NotFound`. Lifting a lifted one changes nothing."""
        ...


class Tokens(Protocol):
    """Tokens, by the SHA-256 of what was handed out."""

    def find_token(self, digest: str, at: datetime) -> Token | None:
        """Return the token if it is known and has not expired."""
        ...

    def take_token(self, digest: str, at: datetime) -> Token | None:
        """Return a login token and end it, in one step: of two callers one gets it."""
        ...

    def add_token(self, token: Token, at: datetime) -> None: ...

    def drop_token(self, digest: str) -> None:
        """End a token; an unknown one is ended already."""
        ...


@dataclass(frozen=True, slots=True)
class Settings:
    """Values that bootstrap reads from the settings. ``hosts`` are answered beside loopback."""

    environment: str
    version: str
    console: Path | None = None
    hosts: tuple[str, ...] = ()
    secure_cookie: bool = False
    session_seconds: float = 12 * 3600.0
    stream: Timing = field(default_factory=Timing)


@dataclass(frozen=True, slots=True)
class Services:
    """Everything `create_app` needs. ``validate`` gets (file, text) and returns every mistake."""

    reads: Reads
    halts: Halts
    tokens: Tokens
    clock: Clock
    validate: Callable[[str, str], Sequence[Problem]]
    settings: Settings
