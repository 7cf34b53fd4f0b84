"""Verdicts and records that the tests of decisions are made of."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from controlplane.decide.signals import FAST
from controlplane.model.playbook import Playbook
from controlplane.model.records import Incident, Run
from controlplane.model.signals import CanaryState, SignalState, Verdict
from controlplane.model.states import IncidentState, RunState
from controlplane.model.target import Signal, Target
from tests.unit.controlplane.decide.fleet import AT, at


def signal(target: Target, name: str = "chat-itl", kind: str = "slo") -> Signal:
    return Signal(kind, name, target)


def state(good: bool | None, *, clients: bool | None = True, value: float | None = None) -> SignalState:
    value = {True: 0.99, False: 0.2, None: None}[good] if value is None else value
    samples = 0 if good is None else 100
    bounds: dict[str, Any] = {"since": AT, "until": AT}
    return SignalState(
        good=good,
        value=value,
        objective=0.95,
        samples=samples,
        clients_good=clients,
        clients_value=0.99,
        **bounds,
    )


def verdict(
    target: Target | None = None,
    *,
    bad: bool = False,
    good: bool | None = None,
    blind: bool = False,
    clients: bool | None = True,
    accusers: frozenset[str] = frozenset(),
    name: str = "chat-itl",
    hold: float = 0.0,
) -> Verdict:
    target = at("a") if target is None else target
    word = False if bad else good
    return Verdict(
        signal(target, name),
        state(None if blind else word, clients=None if blind else clients),
        tiers=(FAST,) if bad else (),
        accusers=accusers,
        blind=blind,
        hold=hold,
    )


def incident(
    target: Target,
    state: IncidentState = IncidentState.FIRING,
    *,
    name: str = "chat-itl",
    kind: str = "slo",
    opened: datetime = AT,
    **more: Any,
) -> Incident:
    values: dict[str, Any] = {"tier": FAST, "title": f"{name} at {target.name}", "changed_at": opened, **more}
    return Incident(
        id=f"inc-{target.name}-{name}",
        signal=str(signal(target, name, kind)),
        service="chat",
        target=str(target),
        state=state,
        opened_at=opened,
        **values,
    )


def run(state: RunState, *, name: str = "zone-failover", after: float = 0.0, **more: Any) -> Run:
    values: dict[str, Any] = {"id": f"run-{after:g}", "target": str(at("a")), **more}
    created = AT + timedelta(seconds=after)
    return Run(kind="playbook", name=name, service="chat", state=state, created_at=created, **values)


def canary(good: bool | None, good_for: float = 0.0) -> CanaryState:
    return CanaryState(good=good, good_for=good_for, at=AT)


def playbook(name: str = "zone-failover", **spec: Any) -> Playbook:
    steps = [{"id": "shift", "uses": "traffic.shift", "with": {"zone": "{{ incident.zone }}", "weight": 0}}]
    body = {"triggers": [{"type": "slo", "slo": "chat-itl", "by": "zone"}], "steps": steps, **spec}
    return Playbook.model_validate({"kind": "Playbook", "metadata": {"name": name}, "spec": body})
