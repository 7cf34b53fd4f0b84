"""Keeping incidents and the ledger: what the tick concluded, moved into the store.

States move by `controlplane.store.transitions` only. Nothing is judged here; the moves come
from `controlplane.decide.incidents`, the comparison from `controlplane.decide.service_state`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from controlplane.act.cancel import supersede_run
from controlplane.controller.inputs import Fleet
from controlplane.decide import folding, incidents, service_state, triggers
from controlplane.kernel.ids import new_id
from controlplane.model.playbook import Playbook
from controlplane.model.records import Incident
from controlplane.model.service import Service
from controlplane.model.signals import Verdict
from controlplane.model.states import IncidentState, is_final
from controlplane.model.target import Signal, Target
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction
from controlplane.store.transitions import move

log = structlog.get_logger(__name__)

MAX_MOVES = 3
"""Moves of one incident at one tick: pending, firing, and no more; a guard against a loop."""

Around = Callable[[Verdict], incidents.Circumstances]


@dataclass(slots=True)
class IncidentKeeper:
    """Moves the incidents of one service. ``memories`` live as long as this leader."""

    service: str
    memories: dict[Signal, incidents.Memory]
    playbooks: Sequence[Playbook]
    wake: Callable[[str], None]
    warming: bool = False
    """Whether what is not measured may only not be known yet."""

    def keep(
        self, tx: Transaction, verdicts: Sequence[Verdict], around: Around, now: datetime
    ) -> list[Incident]:
        """Open, move and fold incidents by this tick's verdicts; returns those that are open now."""
        found = {each.signal: each for each in tx.incidents.list(open=True, service=self.service)}
        opened = {Signal.parse(text): text for text in found}
        measured, told = set(), set()
        for verdict in verdicts:
            if not verdict.bad and verdict.signal not in opened:
                continue
            told.add(verdict.signal)
            text = str(verdict.signal)
            measured.add(text)
            incident = found.get(text)
            memory = self.memories.setdefault(verdict.signal, incidents.Memory())
            memory.take(verdict, now)
            if incident is None:
                incident = self._open(tx, verdict, now)
            found[text] = self._advance(tx, incident, verdict, memory, around(verdict))
        for signal in self.memories.keys() - told:
            del self.memories[signal]
        for text in found.keys() - measured if not self.warming else ():
            why = "nobody measures it any more"
            found[text] = move(tx, found[text], IncidentState.RESOLVED, why, now)
        still = [incident for incident in found.values() if not is_final(incident.state)]
        self._fold(tx, still)
        return still

    def _open(self, tx: Transaction, verdict: Verdict, now: datetime) -> Incident:
        signal = verdict.signal
        incident = Incident(
            id=new_id("inc"),
            signal=str(signal),
            service=self.service,
            target=str(signal.target),
            state=IncidentState.PENDING,
            severity="ticket" if verdict.severity == "ticket" else "page",
            tier=verdict.tiers[0],
            title=incidents.title(signal),
            opened_at=now,
            changed_at=now,
            value=verdict.state.value,
            objective=verdict.state.objective,
            detail=incidents.words(verdict),
        )
        log.info("incident opened", incident=incident.id, signal=incident.signal, value=incident.value)
        return tx.incidents.add(incident, incident.detail)

    def _advance(
        self,
        tx: Transaction,
        incident: Incident,
        verdict: Verdict,
        memory: incidents.Memory,
        around: incidents.Circumstances,
    ) -> Incident:
        for _ in range(MAX_MOVES):
            step = incidents.next_state(
                incident.state, verdict, memory, around, fired=incident.fired_at is not None
            )
            if step is None:
                break
            incident = move(tx, incident, step.state, step.reason, around.now)
            log.info("incident moved", incident=incident.id, state=incident.state, reason=step.reason)
        values = incidents.measured(incident, verdict, memory)
        if verdict.bad and verdict.tiers[0] != incident.tier:
            values |= {"tier": verdict.tiers[0], "severity": verdict.severity}
        changed = {name: value for name, value in values.items() if getattr(incident, name) != value}
        if changed:
            tx.incidents.update(incident.id, **changed)
            incident = incident.model_copy(update=changed)
        return incident

    def _fold(self, tx: Transaction, still: list[Incident]) -> None:
        """Note what each incident is a part of; runs that answer the part alone give way."""
        for incident in still:
            parent = folding.parent_of(incident, still)
            if parent is None:
                continue
            if incident.parent != parent.id:
                tx.incidents.update(incident.id, parent=parent.id)
                log.info("incident folded", incident=incident.id, into=parent.id, target=parent.target)
            if parent.state is IncidentState.FIRING and triggers.is_answerable(parent, self.playbooks):
                for run in tx.runs.list(RunQuery(kind="playbook", incident=incident.id, active=True)):
                    reason = f"{incident.title} is part of {parent.title} ({parent.id})"
                    if run.stop is None:
                        supersede_run(tx, run.id, reason=reason, wake=self.wake)


def reconcile(tx: Transaction, service: Service, fleet: Fleet) -> None:
    """Hold the ledger against what the platform showed: release what is back, claim what others took."""
    if fleet.error or fleet.topology is None or fleet.weights is None:
        return
    rows = [row for row in tx.ledger.list() if Target.parse(row.target).service == service.name]
    # A run that ended after the platform was read may have written meanwhile: its claims stay.
    runs = tx.runs.targets(RunQuery(service=service.name, ended_after=fleet.read_at))
    worked_on = [place for text in set(runs.values()) if (place := _worked_on(text)) is not None]
    busy = runs.keys() | {f"fault:{fault.id}" for fault in tx.faults.list(service=service.name, open=True)}
    seen = service_state.in_service(fleet.topology, fleet.weights)
    seen = {target for target in seen if not any(place.contains(target) for place in worked_on)}
    seen |= service_state.gone(rows, fleet.topology)
    for row in service_state.to_release(rows, seen, busy):
        tx.ledger.release(target=row.target, holder=row.holder, dimension=row.dimension)
        log.info("back in service", target=row.target, holder=row.holder)
    for target, dimension in service_state.to_claim(rows, service, fleet.topology, fleet.weights):
        tx.ledger.claim(
            target,
            dimension,
            service_state.FOREIGN,
            "no new requests by the platform's word, and claimed by no run or drill",
        )
        log.warning("out of service without a claim", target=str(target))


def held_targets(tx: Transaction, service: str) -> Mapping[Target, str]:
    """Return what is claimed, or being worked on by an active run, with who holds it."""
    held = {Target.parse(row.target): row.holder for row in tx.ledger.list()}
    for run, text in tx.runs.targets(RunQuery(service=service, kind="playbook", active=True)).items():
        place = _worked_on(text)
        if place is not None:
            held.setdefault(place, run)
    return held


def _worked_on(text: str | None) -> Target | None:
    """Return the part of the fleet that a run is about, by its target.

    One that is about the whole service, to refuse some clients or to wait for something, is at work on none
    of its parts: what its steps take out they claim.
    """
    target = Target.parse(text) if text is not None else None
    return None if target is None or target.level == "service" else target
