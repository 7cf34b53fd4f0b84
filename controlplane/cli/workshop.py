"""What the API is handed for people who write playbooks and start them by hand.

Both are made when they are first needed: the platform may come later than the API, and most
APIs never rehearse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from controlplane.api.services import Files
from controlplane.kernel.errors import InvalidInput

if TYPE_CHECKING:
    from controlplane.act.byhand import Ask, Hand
    from controlplane.model.preview import PlaybookPlan
    from controlplane.model.records import Run
    from controlplane.model.rehearsal import CaseResult
    from controlplane.settings import Settings
    from controlplane.store.database import Database

MOST_CASES = 64
"""So many are played for one request; a folder with more is for `fleetward playbook test`."""


@dataclass(slots=True)
class LateHand:
    """A `Hand` that is made at the first request."""

    settings: Settings
    database: Database
    _made: Hand | None = None
    _lock: Lock = field(default_factory=Lock)

    def plan(self, ask: Ask) -> PlaybookPlan:
        """Return what would be done now."""
        return self._hand().plan(ask)

    def start(self, ask: Ask) -> Run:
        """Start the run; the next sweep wakes a worker for it."""
        return self._hand().start(ask)

    def _hand(self) -> Hand:
        from controlplane.bootstrap.byhand import build_hand

        with self._lock:
            if self._made is None:
                self._made = build_hand(self.settings, self.database)
            return self._made


class Workshop:
    """Rehearsals and skeletons."""

    def rehearse(self, files: Files) -> Sequence[CaseResult]:
        """Play the tests among the files, one after the other in this process."""
        from controlplane.bootstrap.documents import action_registry, check_texts
        from controlplane.rehearsal.report import rehearse
        from controlplane.rehearsal.suite import suites

        found = suites(check_texts(files))
        cases = sum(len(suite.test.spec.cases) for suite in found)
        if cases > MOST_CASES:
            msg = f"{cases} cases are too many for one request, {MOST_CASES} at most"
            raise InvalidInput(msg, hint="run `fleetward playbook test` where the files lie")
        return rehearse(found, action_registry(), hands=1)

    def begin(self, name: str) -> Mapping[str, str]:
        """Return a playbook to begin with, and its test."""
        from controlplane.bootstrap.skeleton import skeleton

        return skeleton(name)
