"""What mode dryRun does in place of acting: the plan is drawn from the fleet as last seen, and kept.

It is written into the decision that was not acted on, once. No platform is asked, so that a
tick does not wait for one and nothing can be changed; what only the platform could tell is
said to be unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from controlplane.act.preview import PREVIEW, Looker
from controlplane.act.scope import incident_scope
from controlplane.act.start import resolve_inputs
from controlplane.controller.inputs import Documents
from controlplane.decide.guards import limits_of
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import FleetwardError, Unavailable
from controlplane.model.action import ActionRegistry, SignalReader
from controlplane.model.base import strictest
from controlplane.model.playbook import Playbook
from controlplane.model.records import Decision, Incident
from controlplane.model.service import Service
from controlplane.model.topology import Topology, Weights
from controlplane.platforms.port import Platform
from controlplane.store.database import Database
from controlplane.store.signals import StoreSignals
from controlplane.store.transaction import Transaction

MOST = 20
"""Decisions looked at in one tick; the next comes soon."""


@dataclass(frozen=True, slots=True)
class LastSeen:
    """Answers as the platform last did; every other question is `Unavailable`."""

    seen: Topology
    shares: Weights

    def topology(self, service: str) -> Topology:
        del service
        return self.seen

    def weights(self, service: str) -> Weights:
        del service
        return self.shares

    def __getattr__(self, name: str) -> Any:
        msg = f"a dry run does not ask the platform for its {name}"
        raise Unavailable(msg)


@dataclass(frozen=True, slots=True)
class DryRuns:
    """Draws the plans that are missing. ``transaction`` opens one under the leader's fence."""

    service: Service
    documents: Documents
    actions: ActionRegistry
    database: Database
    transaction: Callable[[], AbstractContextManager[Transaction]]
    clock: Clock

    def keep(self, topology: Topology, weights: Weights) -> int:
        """Add a plan to each decision to plan only that has none; return to how many."""
        planned = self._planned_only()
        if not planned:
            return 0
        with self.database.reading() as tx:
            found = [
                (each, tx.incidents.find(each.incident) if each.incident is not None else None)
                for each in tx.decisions.list(outcome="observed", limit=MOST)
                if each.playbook in planned and "plan" not in each.values
            ]
        plans = {each.id: self.plan(each, incident, topology, weights) for each, incident in found}
        if plans:
            with self.transaction() as tx:
                for decision, plan in plans.items():
                    tx.decisions.add_value(decision, "plan", plan)
        return len(plans)

    def _planned_only(self) -> set[str]:
        modes = (self.documents.policy.mode, self.service.spec.mode)
        playbooks = self.documents.playbooks.values()
        return {each.name for each in playbooks if strictest(*modes, each.spec.mode) == "dryRun"}

    def plan(
        self, decision: Decision, incident: Incident | None, topology: Topology, weights: Weights
    ) -> list[dict[str, Any]] | str:
        """Return the steps as JSON, or why there is no plan."""
        playbook: Playbook = self.documents.playbooks[decision.playbook]
        ports: dict[type, object] = {
            Platform: LastSeen(topology, weights),
            SignalReader: StoreSignals(self.database),
        }
        try:
            names = {
                "incident": incident_scope(decision.target, incident),
                "service": self.service,
                "inputs": resolve_inputs(playbook.spec.inputs, {}),
                "limits": limits_of(decision.guards),
                "run": {"id": PREVIEW, "name": playbook.name, "kind": "playbook", "target": decision.target},
                "now": self.clock.now(),
            }
            looker = Looker(self.actions, ports, self.clock, self.service)
            steps = looker.look(playbook.spec.steps, names)
        except FleetwardError as error:
            return str(error)
        return [step.model_dump(mode="json", by_alias=True) for step in steps]
