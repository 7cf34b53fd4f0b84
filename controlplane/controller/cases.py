"""From open incidents to runs: candidates, guards, decisions, each in one transaction.

Every decision is recorded, also those not to act. A run is started in the transaction
that records why, and never twice for the same turn of an incident. It judges nothing
itself: `controlplane.decide` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

import structlog

from controlplane.act.plan import RunPlan
from controlplane.act.start import StartRequest, start_run
from controlplane.controller.inputs import Documents
from controlplane.decide import folding, guards, incidents, triggers
from controlplane.decide.reach import reach_of
from controlplane.kernel.errors import FleetwardError
from controlplane.kernel.ids import new_id
from controlplane.kernel.templating import evaluate
from controlplane.model.action import Action, ActionRegistry, Dimension, Reach, Touch
from controlplane.model.playbook import Playbook
from controlplane.model.records import (
    Decision,
    Freeze,
    GuardVerdict,
    Halt,
    Incident,
    OutOfService,
    Run,
    Verdict,
)
from controlplane.model.service import Service
from controlplane.model.states import IncidentState, is_final
from controlplane.model.target import Signal, Target
from controlplane.model.triggers.base import Facts
from controlplane.store.budgets import NOTICE, spent
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction

log = structlog.get_logger(__name__)

RESOLVED = timedelta(seconds=60)
"""How long a resolved incident can still be answered: longer than a take-over lasts."""

FRESH_TICKS = 3
"""Ticks for which a part waits whether its zone is answered."""

HISTORY = timedelta(days=7)
"""How far back runs are looked at: the longest throttle that holds."""

Outcome = Literal["run", "queued", "refused", "observed", "notMatched"]


@dataclass(frozen=True, slots=True)
class Records:
    """What guards look at beside the view: halts, the service's runs, and what is out of service."""

    halts: list[Halt]
    runs: list[Run]
    ledger: list[OutOfService]
    freezes: list[Freeze]


@dataclass(frozen=True, slots=True)
class Desk:
    """What all cases of one tick share. ``wake`` sends a run's id to the workers."""

    service: Service
    documents: Documents
    view: guards.View
    facts: Facts
    actions: ActionRegistry
    wake: Callable[[str], None]
    now: datetime
    tick: float

    def decide(self, tx: Transaction) -> list[Run]:
        """Settle everything that is called for and not answered yet, oldest incident first.

        What is called for by the service as a whole comes last: it waits for what was begun for a part.
        """
        found = tx.incidents.list(open=True, service=self.service.name)
        over = tx.incidents.list(open=False, service=self.service.name, limit=100)
        found += [each for each in over if each.resolved_at and each.resolved_at > self.now - RESOLVED]
        playbooks = list(self.documents.playbooks.values())
        called = sorted(triggers.candidates(playbooks, found, self.facts), key=_is_of_the_whole)
        if not called:
            return []
        records = self.records(tx)
        halts, runs, ledger = records.halts, records.runs, records.ledger
        started: list[Run] = []
        for each in called:
            answers = [
                run for run in runs if (run.name, run.incident) == (each.playbook.name, each.incident.id)
            ]
            parent = self._wider(each.incident, found, playbooks, runs)
            alone = parent is None and self._may_stand_alone(each.incident)
            if triggers.is_answered(each, answers) or not (alone or parent):
                continue
            case = guards.Case(
                each.playbook,
                each.name,
                each.incident,
                self.view,
                parent=parent,
                alone=folding.is_alone(each.incident, found, self.now),
                halts=halts,
                runs=runs,
                ledger=ledger,
                freezes=records.freezes,
                touches=self._touches(each),
            )
            _, run = self.settle(tx, case)
            if run is not None:
                started.append(run)
                runs.insert(0, run)
                ledger += [_foreseen(touch, run, self.now) for touch in case.touches if not touch.returns]
        return started

    def records(self, tx: Transaction) -> Records:
        """Read what guards look at."""
        runs = tx.runs.list(RunQuery(service=self.service.name, ended_after=self.now - HISTORY), limit=1000)
        freezes = tx.freezes.in_force(self.service.name, self.now)
        return Records(tx.halts.in_force(self.now), runs, tx.ledger.list(), freezes)

    def settle(self, tx: Transaction, case: guards.Case) -> tuple[Outcome, Run | None]:
        """Judge a case, record the decision, and start the run if nothing stands against it."""
        verdicts: tuple[GuardVerdict, ...] = ()
        try:
            request = self._request(case)
            used = spent(tx, case.playbook, self.service.name)
            reach = reach_of(case.playbook, self.actions)
            verdicts = guards.judge(replace(case, group=request.group, spent=used, reach=reach))
            limits = guards.limits_of(verdicts)
            if not self._matches(case.playbook, request, limits):
                reason = f"`{case.playbook.spec.when}` is false"
                self.record(tx, case, "notMatched", verdicts, reason=reason)
                return "notMatched", None
            outcome = _outcome(verdicts)
            if outcome != "run":
                notice = self._tell(tx, request, verdicts)
                self.record(tx, case, outcome, verdicts, run=notice)
                return outcome, None
            scope = {**request.scope, "limits": limits}
            plan = request.plan.asking() if guards.asks_people(case) else request.plan
            run = start_run(tx, replace(request, scope=scope, plan=plan), self.wake)
        except FleetwardError as error:
            self.record(tx, case, "refused", (*verdicts, _broken(str(error))))
            return "refused", None
        self.record(tx, case, "run", verdicts, run=run.id)
        log.info("run started", run=run.id, playbook=run.name, target=run.target, incident=run.incident)
        return "run", run

    def _tell(self, tx: Transaction, request: StartRequest, verdicts: Sequence[GuardVerdict]) -> str | None:
        """Start a run that tells people that nothing is done, when only the budget stands against it.

        It answers the incident, so that people are told once.
        """
        against = [verdict for verdict in verdicts if verdict.verdict is not Verdict.ALLOW]
        playbook = self.documents.playbooks[request.name]
        budget, (first, *others) = playbook.spec.budget, against
        if budget is None or budget.then != "notify" or first.guard != "budget" or others:
            return None
        rungs = playbook.spec.on_failure.escalate
        channels = [rung.notify for rung in rungs if rung.notify is not None]
        channels = channels or [channel.name for channel in self.documents.policy.channels]
        if not channels:
            return None
        title = f"{request.name} is not run on {request.target}: {first.message}"
        told = replace(
            request,
            plan=RunPlan.of_notices(channels),
            inputs={"title": title[:200], "text": request.reason},
            group=None,
            trigger=NOTICE,
            reason=first.message,
        )
        return start_run(tx, told, self.wake).id

    def _wider(
        self,
        incident: Incident,
        found: Sequence[Incident],
        playbooks: Sequence[Playbook],
        runs: Sequence[Run],
    ) -> Incident | None:
        """Return the wider incident that is answered first: what is done for it may be all that is needed.

        One that the incident folds into, and of any signal one that has just come up or is being
        worked on. Only for a while: where nobody answers the wider one, or it does not help, what
        can be done for the part is done. A wider one that is mitigated keeps nothing from its parts.
        """
        parent = folding.parent_of(incident, found)
        if parent is not None and triggers.is_answerable(parent, playbooks):
            return parent
        since = self.now - timedelta(seconds=guards.WORKED_ON)
        worked_on = {
            run.target
            for run in runs
            if run.kind == "playbook" and not is_final(run.state) and run.created_at > since
        }
        for other in folding.wider(incident, found):
            fresh = self.now - other.changed_at <= timedelta(seconds=FRESH_TICKS * self.tick)
            bad = other.state is IncidentState.FIRING and other.calm_since is None
            if other.target in worked_on or (fresh and bad and triggers.is_answerable(other, playbooks)):
                return other
        return None

    def _may_stand_alone(self, incident: Incident) -> bool:
        """Let a node's or replica's incident wait for its siblings before anything is done for it alone."""
        narrow = Target.parse(incident.target).level in {"node", "replica", "gpu"}
        return not narrow or incidents.is_old_enough(incident, self.now, self.tick)

    def _request(self, case: guards.Case) -> StartRequest:
        incident = case.incident
        signal = Signal.parse(incident.signal) if incident is not None else None
        slo = signal.name if signal is not None and signal.kind == "slo" else None
        return StartRequest.of_playbook(
            case.playbook,
            self.service,
            self.documents.pins(case.playbook.name, self.service.name, slo),
            target=str(case.target),
            incident=incident,
            trigger=case.trigger,
            reason=case.trigger if incident is None else f"{incident.title}: {incident.detail}"[:500],
            alone=case.alone,
        )

    def _matches(self, playbook: Playbook, request: StartRequest, limits: dict[str, Any]) -> bool:
        if playbook.spec.when is None:
            return True
        names = {
            "incident": request.scope["incident"],
            "service": self.service,
            "inputs": request.inputs,
            "limits": limits,
            "now": self.now,
        }
        return bool(evaluate(playbook.spec.when, names))

    def _touches(self, candidate: triggers.Candidate) -> list[Touch]:
        """Presume what the playbook takes out: its target, if any of its actions takes anything.

        While the incident is firing; a playbook that answers a later state gives back. The
        steps are judged again, by what they really touch.
        """
        takes = any(
            type(self.actions.get(step.uses)).touches is not Action.touches
            and self.actions.get(step.uses).reach_with(step.with_) is Reach.OUT
            for step in candidate.playbook.spec.steps
            if step.uses in self.actions
        )
        target = Target.parse(candidate.incident.target)
        dimension = Dimension.TRAFFIC if target.level in {"service", "zone"} else Dimension.CAPACITY
        returns = candidate.incident.state is not IncidentState.FIRING
        return [Touch(target, dimension, returns=returns)] if takes else []

    def record(
        self,
        tx: Transaction,
        case: guards.Case,
        outcome: Outcome,
        verdicts: tuple[GuardVerdict, ...],
        *,
        run: str | None = None,
        reason: str = "",
    ) -> None:
        incident = case.incident
        values: dict[str, Any] = {"sources": dict(self.view.sources)}
        if incident is not None:
            values |= {"value": incident.value, "objective": incident.objective, "tier": incident.tier}
            values |= {"state": incident.state.value}
        tx.decisions.record(
            Decision(
                id=new_id("dec"),
                at=self.now,
                last_at=self.now,
                playbook=case.playbook.name,
                trigger=case.trigger,
                signal=incident.signal if incident is not None else None,
                incident=incident.id if incident is not None else None,
                target=str(case.target),
                outcome=outcome,
                run=run,
                guards=verdicts,
                values=values | ({"reason": reason} if reason else {}),
            )
        )


def _is_of_the_whole(candidate: triggers.Candidate) -> bool:
    return Target.parse(candidate.incident.target).level == "service"


def _outcome(verdicts: Sequence[GuardVerdict]) -> Outcome:
    against = [verdict for verdict in verdicts if verdict.verdict is not Verdict.ALLOW]
    if not against:
        return "run"
    if all(verdict.guard == "mode" for verdict in against):
        return "observed"
    return "refused" if any(verdict.verdict is Verdict.REFUSE for verdict in against) else "queued"


def _foreseen(touch: Touch, run: Run, now: datetime) -> OutOfService:
    """What a run that has just been started is about to claim, for those judged after it."""
    return OutOfService(target=str(touch.target), dimension=touch.dimension, holder=run.id, since=now)


def _broken(message: str) -> GuardVerdict:
    return GuardVerdict(guard="request", verdict=Verdict.REFUSE, message=message)
