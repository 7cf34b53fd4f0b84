"""The one tree of errors, so that callers can ask two questions only: whose fault, and may I retry?

::

    FleetwardError
    ├── InvalidInput        the caller's words are wrong; say what is valid            422
    │   └── InvalidDocuments  the same, for files: all problems with their positions   422
    ├── NotAllowed          who asks may not do this                                   403
    ├── NotFound            there is no such thing                                     404
    ├── Conflict            somebody else was first                                    409
    │   ├── VersionConflict   the thing changed since it was read
    │   └── Fenced            a newer owner of the run exists; the caller must stop
    ├── Refused             a guard says no, with numbers                              409
    ├── Unavailable         a dependency does not answer; a retry may help             503
    └── Ambiguous           the call may or may not have taken effect                  504

Every adapter maps its library's errors onto this tree and chains the original. The tree
refuses to carry presentation: ``hint`` is one sentence about what to do next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal


class FleetwardError(Exception):
    """Root of the tree.

    ``code`` is stable and machine-readable, ``status`` the HTTP status it is rendered with.
    """

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidInput(FleetwardError):
    """The caller's input is wrong; the message says what is valid."""

    code = "invalid_input"
    status = 422


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in one document; ``line`` and ``column`` count from 1.

    ``code`` names the check that found it and is stable. What is merely doubtful is a warning.
    """

    file: str
    line: int
    column: int
    path: str
    message: str
    suggestion: str | None = None
    code: str = "invalid"
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        tail = f"; {self.suggestion}" if self.suggestion else ""
        note = "warning: " if self.severity == "warning" else ""
        code = f" [{self.code}]" if self.code != "invalid" else ""
        where = f"{self.file}:{self.line}:{self.column}: {self.path or '(document)'}"
        return f"{where}: {note}{self.message}{tail}{code}"


class InvalidDocuments(InvalidInput):
    """One or more documents do not load; carries every problem, not the first."""

    code = "invalid_documents"

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class NotAllowed(FleetwardError):
    """Who asks is unknown, or may not do this."""

    code = "not_allowed"
    status = 403


class NotFound(FleetwardError):
    """There is no such thing (any more)."""

    code = "not_found"
    status = 404


class Conflict(FleetwardError):
    """Somebody else was first."""

    code = "conflict"
    status = 409


class VersionConflict(Conflict):
    """The thing changed since it was read: read again, then decide again."""

    code = "version_conflict"


class Fenced(Conflict):
    """A newer owner holds this run. Whoever gets this must stop touching it."""

    code = "fenced"


class Refused(FleetwardError):
    """A guard or a limit says no; the message carries the numbers it was said on."""

    code = "refused"
    status = 409


class Unavailable(FleetwardError):
    """A dependency does not answer, and nothing was done. A retry may help."""

    code = "unavailable"
    status = 503


class Ambiguous(FleetwardError):
    """The call may or may not have taken effect: look before trying again."""

    code = "ambiguous"
    status = 504
