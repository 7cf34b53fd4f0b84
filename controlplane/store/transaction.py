"""One unit of work with all its repositories: ``tx.runs``, ``tx.incidents``, ..."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from controlplane.store.alerts import AlertRepository
from controlplane.store.approvals import ApprovalRepository
from controlplane.store.decisions import DecisionRepository
from controlplane.store.documents import DocumentRepository
from controlplane.store.events import EventRepository
from controlplane.store.faults import FaultRepository
from controlplane.store.freezes import FreezeRepository
from controlplane.store.halts import HaltRepository
from controlplane.store.incidents import IncidentRepository
from controlplane.store.journal import JournalRepository
from controlplane.store.leases import LeaseRepository
from controlplane.store.ledger import LedgerRepository
from controlplane.store.runs import RunRepository
from controlplane.store.schedules import ScheduleRepository
from controlplane.store.snapshots import SnapshotRepository
from controlplane.store.steps import StepRepository
from controlplane.store.tokens import TokenRepository
from controlplane.store.undo import UndoRepository
from controlplane.store.unit import Repository, Unit

R = TypeVar("R", bound=Repository)


class Lazily(Generic[R]):
    """A repository that a transaction makes when it is first asked for, and keeps.

    Most use three of them, many times a second: `functools.cached_property` would lock for each.
    """

    def __init__(self, kind: type[R]) -> None:
        self._kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, unit: Unit, owner: Any) -> R:
        made: R = self._kind(unit)
        unit.__dict__[self._name] = made
        return made


class Transaction(Unit):
    """What ``database.transaction()`` and ``database.reading()`` hand out."""

    documents = Lazily(DocumentRepository)
    approvals = Lazily(ApprovalRepository)
    runs = Lazily(RunRepository)
    steps = Lazily(StepRepository)
    journal = Lazily(JournalRepository)
    undo = Lazily(UndoRepository)
    incidents = Lazily(IncidentRepository)
    decisions = Lazily(DecisionRepository)
    ledger = Lazily(LedgerRepository)
    faults = Lazily(FaultRepository)
    halts = Lazily(HaltRepository)
    freezes = Lazily(FreezeRepository)
    alerts = Lazily(AlertRepository)
    schedules = Lazily(ScheduleRepository)
    events = Lazily(EventRepository)
    leases = Lazily(LeaseRepository)
    tokens = Lazily(TokenRepository)
    snapshots = Lazily(SnapshotRepository)
