"""What a person asks for: the plan of a playbook on a target, and its start when no guard is against it.

The guards are those of the loop, on the same values: what the controller last measured and
what the platform shows now. A plan writes nothing anywhere. It waits for nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Literal, TypeVar

from controlplane.act.preview import PREVIEW, Looker
from controlplane.act.scope import incident_scope
from controlplane.act.start import StartRequest, Wake, start_run
from controlplane.decide import guards
from controlplane.decide.reach import reach_of
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import NotFound, Refused
from controlplane.kernel.ids import new_id
from controlplane.kernel.registry import did_you_mean
from controlplane.kernel.templating import evaluate
from controlplane.model.action import ActionRegistry, Reach, SignalReader, Touch
from controlplane.model.kind import Kind
from controlplane.model.playbook import Playbook
from controlplane.model.policy import Policy, PolicySpec
from controlplane.model.preview import Capacity, PlannedStep, PlaybookPlan
from controlplane.model.records import Decision, GuardVerdict, Run, Verdict
from controlplane.model.service import Service
from controlplane.model.signals import SignalsSnapshot
from controlplane.model.states import IncidentState
from controlplane.model.target import Target
from controlplane.model.topology import Topology
from controlplane.platforms.port import Platform
from controlplane.store.budgets import spent
from controlplane.store.database import Database
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction

K = TypeVar("K", bound=Kind)

HISTORY = timedelta(days=7)
STALE = timedelta(seconds=15)
"""What the controller measured longer ago than this says nothing about now."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a person wants: a playbook by name, on a target, with inputs."""

    playbook: str
    target: str
    by: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Case:
    """An ask with all that it is judged on."""

    ask: Ask
    playbook: Playbook
    service: Service
    view: guards.View
    request: StartRequest
    steps: tuple[PlannedStep, ...]
    reach: Reach


@dataclass(frozen=True, slots=True)
class Hand:
    """Plans and starts what people ask for."""

    database: Database
    actions: ActionRegistry
    ports: Mapping[type, object]
    clock: Clock

    def plan(self, ask: Ask) -> PlaybookPlan:
        """Return what would be done now, and what the guards say to it. Writes nothing.

        Raises `NotFound` for an unknown playbook, service or target, `InvalidInput` for wrong inputs.
        """
        case = self._case(ask)
        with self.database.reading() as tx:
            verdicts = _judge(tx, case)
        limits = guards.limits_of(verdicts)
        steps = self._look(case.playbook, case.service, case.request, limits)
        matches = self._matches(case, limits)
        verdict, why = _verdict(case.playbook, verdicts, matches=matches)
        return PlaybookPlan(
            playbook=case.playbook.name,
            service=case.service.name,
            target=ask.target,
            at=case.view.now,
            inputs=dict(case.request.inputs),
            matches=matches,
            verdict=verdict,
            why=why,
            guards=verdicts,
            capacity=_capacity(verdicts),
            steps=steps,
        )

    def start(self, ask: Ask, wake: Wake | None = None) -> Run:
        """Start the run, and record the decision. Raises `Refused` when a guard is against it, with why."""
        case = self._case(ask)
        with self.database.transaction() as tx:
            verdicts = _judge(tx, case)
            limits = guards.limits_of(verdicts)
            verdict, why = _verdict(case.playbook, verdicts, matches=self._matches(case, limits))
            run = None
            if verdict == "run":
                scope = {**case.request.scope, "limits": limits}
                run = start_run(tx, replace(case.request, scope=scope), wake)
            _record(tx, case, verdicts, run, why)
        if run is None:
            msg = f"{ask.playbook} is not started on {ask.target}: {why}"
            raise Refused(msg)
        return run

    def read_inputs(self, playbook: str, texts: Mapping[str, str]) -> dict[str, Any]:
        """Return inputs that were typed as texts as what the playbook declares them to be."""
        with self.database.reading() as tx:
            found = _document(tx, Playbook, playbook)
        declared = found[0].spec.inputs
        types = {name: declared[name].type for name in texts.keys() & declared.keys()}
        return {name: _typed(types.get(name, ""), text) for name, text in texts.items()}

    def _case(self, ask: Ask) -> _Case:
        target = Target.parse(ask.target)
        with self.database.reading() as tx:
            playbook, playbook_hash = _document(tx, Playbook, ask.playbook)
            service, service_hash = _document(tx, Service, target.service)
            pins = {"Playbook": playbook_hash, "Service": service_hash}
            policy = None
            for revision in tx.documents.active("Policy")[:1]:
                policy, pins["Policy"] = _document(tx, Policy, revision.name)
            bad = _bad_zones(tx, service.name)
        topology = self._port(Platform).topology(service.name)
        known = [str(one) for one in topology.targets()]
        if str(target) not in known:
            msg = f"the fleet has no target `{ask.target}`"
            raise NotFound(msg, hint=did_you_mean(ask.target, known))
        snapshot = self._port(SignalReader).latest(service.name)
        view = _view(service, policy, topology, snapshot, bad, self.clock)
        request = StartRequest.of_playbook(
            playbook,
            service,
            pins,
            target=ask.target,
            inputs=ask.inputs,
            trigger="manual",
            started_by=ask.by,
            reason=f"started by {ask.by}" + (f": {ask.reason}" if ask.reason else ""),
        )
        steps = self._look(playbook, service, request, None)
        return _Case(ask, playbook, service, view, request, steps, reach_of(playbook, self.actions))

    def _look(
        self,
        playbook: Playbook,
        service: Service,
        request: StartRequest,
        limits: Mapping[str, Any] | None,
    ) -> tuple[PlannedStep, ...]:
        names = {
            "incident": request.scope["incident"],
            "service": service,
            "inputs": request.inputs,
            "run": {"id": PREVIEW, "name": playbook.name, "kind": "playbook", "target": request.target},
            "now": self.clock.now(),
        }
        if limits is not None:
            names["limits"] = limits
        return Looker(self.actions, self.ports, self.clock, service).look(playbook.spec.steps, names)

    def _matches(self, case: _Case, limits: Mapping[str, Any]) -> bool | None:
        when = case.playbook.spec.when
        if when is None:
            return None
        names = {
            "incident": incident_scope(case.ask.target),
            "service": case.service,
            "inputs": case.request.inputs,
            "limits": limits,
            "now": case.view.now,
        }
        return bool(evaluate(when, names))

    def _port(self, port: type[Any]) -> Any:
        return self.ports[port]


def _document(tx: Transaction, kind: type[K], name: str) -> tuple[K, str]:
    """Return a document in force with its hash, or raise `NotFound` with the nearest name."""
    revision = tx.documents.find(kind.KIND, name)
    model = tx.documents.load(revision.sha256) if revision is not None else None
    if revision is None or not isinstance(model, kind):
        known = [each.name for each in tx.documents.active(kind.KIND)]
        msg = f"no {kind.KIND.lower()} `{name}` is loaded"
        raise NotFound(msg, hint=did_you_mean(name, known))
    return model, revision.sha256


def _typed(type_: str, text: str) -> Any:
    """Read a text as a number or a truth value where one is declared; the start checks it."""
    if type_ == "boolean" and text in {"true", "false"}:
        return text == "true"
    if type_ == "number":
        try:
            return int(text) if text.lstrip("-").isdigit() else float(text)
        except ValueError:
            return text
    return text


def _bad_zones(tx: Transaction, service: str) -> list[str]:
    active = {IncidentState.PENDING, IncidentState.FIRING}
    targets = [
        Target.parse(each.target)
        for each in tx.incidents.list(open=True, service=service)
        if each.state in active
    ]
    return sorted({str(target.zone) for target in targets if target.level == "zone"})


def _view(
    service: Service,
    policy: Policy | None,
    topology: Topology,
    snapshot: SignalsSnapshot | None,
    bad: Sequence[str],
    clock: Clock,
) -> guards.View:
    now = clock.now()
    fresh = snapshot is not None and now - snapshot.at <= STALE
    sources: dict[str, str] = dict(snapshot.sources) if snapshot is not None and fresh else {}
    if not fresh:
        sources["controller"] = "lost" if snapshot is None else "stale"
    canaries = snapshot.canaries if snapshot is not None and fresh else {}
    ill = {text for text, state in canaries.items() if state.good is False}
    replicas = topology.replicas()
    return guards.View(
        now=now,
        service=service,
        policy=policy.spec if policy is not None else PolicySpec(),
        topology=topology,
        sources=sources,
        bad_zones=bad,
        unhealthy=sum(not view.ready or str(target) in ill for target, view in replicas),
        replicas=len(replicas),
    )


def _judge(tx: Transaction, case: _Case) -> tuple[GuardVerdict, ...]:
    runs = tx.runs.list(RunQuery(service=case.service.name, ended_after=case.view.now - HISTORY), limit=1000)
    touches = [
        Touch(Target.parse(touch.target), touch.dimension, touch.returns)
        for step in case.steps
        if step.outlook != "skipped"
        for touch in step.touches
    ]
    return guards.judge(
        guards.Case(
            case.playbook,
            "manual",
            None,
            case.view,
            halts=tx.halts.in_force(),
            runs=runs,
            ledger=tx.ledger.list(),
            freezes=tx.freezes.in_force(case.service.name),
            touches=touches,
            group=case.request.group,
            place=case.ask.target,
            by=case.ask.by,
            spent=spent(tx, case.playbook, case.service.name),
            reach=case.reach,
        )
    )


def _verdict(
    playbook: Playbook, verdicts: Sequence[GuardVerdict], *, matches: bool | None
) -> tuple[Literal["run", "wait", "refuse", "notMatched"], str]:
    against = [each for each in verdicts if each.verdict is not Verdict.ALLOW]
    why = "; ".join(f"{each.guard}: {each.message}" for each in against)
    if matches is False:
        return "notMatched", f"`{playbook.spec.when}` is false"
    if any(each.verdict is Verdict.REFUSE for each in against):
        return "refuse", why
    return ("wait", why) if against else ("run", "no guard is against it")


def _capacity(verdicts: Sequence[GuardVerdict]) -> Capacity:
    values = next(each.values for each in verdicts if each.guard == "blastRadius")
    return Capacity(
        replicas=values["replicas"],
        healthy_before=values["healthyBefore"],
        healthy_after=values["healthyAfter"],
        share_after=values["healthyShareAfter"],
        zones=values["zones"],
        zones_out_after=values["zonesAfter"],
    )


def _record(
    tx: Transaction, case: _Case, verdicts: tuple[GuardVerdict, ...], run: Run | None, why: str
) -> None:
    tx.decisions.record(
        Decision(
            id=new_id("dec"),
            at=case.view.now,
            last_at=case.view.now,
            playbook=case.playbook.name,
            trigger="manual",
            target=case.ask.target,
            outcome="run" if run is not None else "refused",
            run=run.id if run is not None else None,
            guards=verdicts,
            values={"by": case.ask.by, "sources": dict(case.view.sources), "reason": why},
        )
    )
