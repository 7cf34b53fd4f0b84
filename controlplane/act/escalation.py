"""The ladder: what is tried, rung by rung, when a run did not help.

A rung tells a channel, or starts another playbook as a run whose ``cause`` is the one that
ends. Whichever run ends without success goes on with its own ladder, then with that of its
cause; so nobody waits, and no run holds a concurrency group that the next one needs. What
was tried is kept in the result of the run whose ladder it is, in the transaction that tried
it. It climbs no further once a playbook succeeded, or when a person or a wider run took over.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from controlplane.act.engine import Turn
from controlplane.act.plan import RunPlan
from controlplane.act.start import StartRequest, start_run
from controlplane.decide import guards
from controlplane.kernel.errors import FleetwardError, NotFound, Refused
from controlplane.kernel.templating import evaluate, render
from controlplane.model.playbook import Escalation, Playbook
from controlplane.model.policy import Policy, PolicySpec
from controlplane.model.records import Incident, Run, Verdict
from controlplane.model.states import RunState
from controlplane.model.topology import Topology
from controlplane.store.budgets import spent
from controlplane.store.runs import RunQuery

CLIMBS = frozenset({RunState.FAILED, RunState.INCONCLUSIVE})

GUARDS: tuple[guards.Guard, ...] = (
    guards.halt,
    guards.mode,
    guards.freeze,
    guards.maintenance,
    guards.throttle,
    guards.concurrency,
    guards.budget,
)
"""What a worker can judge without the loop's view; each step is judged by the blast radius as ever."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One rung: whose ladder it is of, its place, and what it says."""

    origin: Run
    index: int
    says: Escalation

    @property
    def key(self) -> str:
        return f"{self.origin.id}/escalate/{self.index}"


def next_rung(turn: Turn, final: RunState, *, trouble: bool) -> Rung | None:
    """Return what is tried next before the run ends.

    After a run that was stopped only people are told, and only of ``trouble`` with its undo.
    """
    climbs = final in CLIMBS
    if not climbs and not trouble:
        return None
    for run in _chain(turn) if climbs else [turn.run]:
        rungs, tried = _rungs(turn, run), len(run.result.get("escalated", ()))
        for index in range(tried, len(rungs)):
            if climbs or rungs[index].notify is not None:
                return Rung(run, index, rungs[index])
    return None


def tried(turn: Turn, rung: Rung, came_of_it: str, **more: Any) -> None:
    """Write down what became of a rung, and of those before it that did not apply."""
    own = rung.origin.id == turn.run.id
    result = turn.run.result if own else turn.tx.runs.get(rung.origin.id).result
    entries = list(result.get("escalated", ()))
    entries += [{"outcome": "skipped"}] * (rung.index - len(entries))
    says = rung.says.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    entries.append({**says, "outcome": came_of_it, **more})
    if own:
        turn.update(result={**result, "escalated": entries})
    else:
        turn.tx.runs.merge_result(rung.origin.id, escalated=entries)
        what = rung.says.playbook or rung.says.notify
        message = f"{turn.run.name} ({turn.run.id}) did not help either; {what}: {came_of_it}"
        turn.tx.journal.write(rung.origin.id, "run.escalated", message)


def start_rung(turn: Turn, rung: Rung) -> bool:
    """Start the playbook of a rung; False, with the reason written down, when it may not start."""
    name = rung.says.playbook
    assert name is not None, "the other rungs tell people"  # noqa: S101
    try:
        request = _request(turn, rung, name)
        run = start_run(turn.tx, replace(request, cause=turn.run.id), turn.parts.wake)
    except FleetwardError as error:
        turn.journal("run.escalationFailed", f"{name} was not started: {error}", playbook=name)
        tried(turn, rung, f"not started: {error}")
        return False
    turn.journal("run.escalated", f"{name} was started as {run.id}", playbook=name, follower=run.id)
    tried(turn, rung, "started", run=run.id)
    return True


def story(turn: Turn, rung: Rung) -> list[str]:
    """Return a line for each run that did not help, the origin of the ladder first."""
    found: list[str] = []
    for run in _chain(turn):
        state = turn.run.ending if run.id == turn.run.id else run.state
        found.insert(0, f"{run.name} ({run.id}) {state}: {run.reason}")
        if run.id == rung.origin.id:
            break
    return found


def _chain(turn: Turn) -> Iterator[Run]:
    """Yield the run, its cause, the cause's cause, ..."""
    run: Run | None = turn.run
    while run is not None:
        yield run
        run = turn.tx.runs.find(run.cause) if run.cause is not None else None


def _rungs(turn: Turn, run: Run) -> tuple[Escalation, ...]:
    if run.id == turn.run.id:
        return turn.pinned.plan.on_failure.escalate
    return RunPlan.read(turn.tx.runs.plan(run.id)).on_failure.escalate


def _request(turn: Turn, rung: Rung, name: str) -> StartRequest:
    """Return the request of the rung's playbook; raise what stands against it."""
    if name in {run.name for run in _chain(turn)}:
        msg = f"{name} has been tried already"
        raise Refused(msg)
    found = turn.tx.documents.find("Playbook", name)
    if found is None:
        msg = f"no playbook `{name}` is in force"
        raise NotFound(msg)
    playbook = Playbook.model_validate(found.body)
    origin, service = rung.origin, turn.pinned.service
    incident = turn.tx.incidents.find(origin.incident) if origin.incident is not None else None
    policy = turn.tx.documents.active("Policy")
    pins = {**origin.pins, "Playbook": found.sha256}
    if policy:
        pins["Policy"] = policy[0].sha256
    limits = origin.scope.get("limits", {})
    request = StartRequest.of_playbook(
        playbook,
        service,
        pins,
        target=origin.target,
        incident=incident,
        inputs=render(rung.says.inputs, turn.scope),
        limits=limits,
        trigger="escalation",
        started_by=origin.id,
        reason=f"{origin.name} ({origin.id}) did not help: {turn.run.reason}"[:500],
    )
    request = replace(request, signal=origin.signal)
    spec = Policy.model_validate(policy[0].body).spec if policy else PolicySpec()
    asks = _judge(turn, playbook, request, spec, incident)
    return replace(request, plan=request.plan.asking()) if asks else request


def _judge(
    turn: Turn, playbook: Playbook, request: StartRequest, policy: PolicySpec, incident: Incident | None
) -> bool:
    """Tell whether people are asked first; raise `Refused` for what stands against the playbook."""
    service = turn.pinned.service
    nothing = Topology(service=service.name, cluster=service.target.cluster, zones=(), observed_at=turn.now)
    runs = turn.tx.runs.list(RunQuery(service=service.name, name=playbook.name), limit=200)
    if request.group is not None:
        runs += turn.tx.runs.list(RunQuery(group=request.group, active=True))
    case = guards.Case(
        playbook,
        "escalation",
        incident,
        guards.View(turn.now, service, policy, nothing),
        halts=turn.halts,
        freezes=turn.tx.freezes.in_force(service.name),
        runs=[run for run in runs if run.id != turn.run.id],
        group=request.group,
        place=request.target or str(service.target),
        spent=spent(turn.tx, playbook, service.name),
    )
    against = [said for said in guards.judge(case, GUARDS) if said.verdict is not Verdict.ALLOW]
    if against:
        msg = f"{against[0].guard}: {against[0].message}"
        raise Refused(msg)
    names = {**request.scope, "service": service, "inputs": request.inputs, "now": turn.now}
    if playbook.spec.when is not None and not evaluate(playbook.spec.when, names):
        msg = f"`{playbook.spec.when}` is false"
        raise Refused(msg)
    return guards.asks_people(case)
