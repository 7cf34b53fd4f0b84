"""The names that expressions of a run may use: incident, service, inputs, steps, limits, run, now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from controlplane.model.records import Incident, Run, StepRecord
from controlplane.model.service import Service
from controlplane.model.target import Signal, Target
from controlplane.model.triggers.gpu import GPU
from controlplane.model.xid import ailment, code_of


def incident_scope(
    target: str | None, incident: Incident | None = None, *, alone: bool = True
) -> dict[str, Any] | None:
    """Return what expressions see as ``incident``.

    A run that a person started on a target has no incident; the target alone speaks for it,
    so that ``incident.zone`` works in the same playbook. ``alone``: its zone is not in the same trouble.
    """
    where = incident.target if incident is not None else target
    if where is None:
        return None
    parsed = Target.parse(where)
    parts = {name: getattr(parsed, name) for name in ("service", "cluster", "zone", "node", "replica", "gpu")}
    calm = incident is None or incident.calm_since is not None
    scope: dict[str, Any] = {"target": where, **parts, "level": parsed.level, "name": parsed.name}
    scope |= {"alone": alone, "calm": calm}
    if incident is not None:
        fields = {"id", "signal", "state", "severity", "tier", "title", "value", "objective"}
        scope |= incident.model_dump(mode="json", by_alias=False, include=fields)
        signal = Signal.parse(incident.signal)
        scope |= {"xid": None, "rung": None, "fault": None}
        if signal.kind == GPU:
            scope |= {"xid": code_of(signal.name), "rung": incident.tier, "fault": ailment(signal.name).fault}
    return scope


def run_scope(run: Run, service: Service, steps: Iterable[StepRecord], now: datetime) -> dict[str, Any]:
    """Return everything that the expressions of a step may name."""
    given: Mapping[str, Any] = run.scope
    return {
        "incident": given.get("incident"),
        "service": service,
        "inputs": run.inputs,
        "steps": {
            step.id: {"outputs": step.outputs, "state": step.state.value}
            for step in steps
            if step.item_index is None
        },
        "limits": given.get("limits", {}),
        "run": {"id": run.id, "name": run.name, "kind": run.kind, "target": run.target},
        "now": now,
    }
