"""A real engine on a fleet in memory, in the machine's time, and two runs of it that wait for people.

What is decided in a browser then really happens, or does not. Nothing else is told: no incidents, no
picture of the fleet.
"""

from __future__ import annotations

from controlplane.act.approve import StoreApprovals
from controlplane.act.executor import Executor
from controlplane.act.start import StartRequest, start_run
from controlplane.act.sweep import sweep
from controlplane.actions import register
from controlplane.kernel.registry import Registry
from controlplane.model.action import ActionRegistry, SignalReader
from controlplane.model.approval import Approvals
from controlplane.model.playbook import Playbook
from controlplane.model.policy import Policy
from controlplane.platforms.memory import MemoryPlatform
from controlplane.platforms.port import Platform
from controlplane.store.database import Database
from tests.support.mailbox import Mailbox
from tests.support.steps import SERVICE, Signals

PLAYBOOK = {
    "kind": "Playbook",
    "metadata": {"name": "leave-zone"},
    "spec": {
        "description": "Take a zone out of traffic, when people say so.",
        "triggers": [{"type": "manual"}],
        "approval": {"roles": ["approver"], "timeout": "30m"},
        "steps": [
            {"id": "shift", "uses": "traffic.shift", "with": {"zone": "{{ incident.zone }}", "weight": 0}}
        ],
        "onFailure": {"undo": True},
    },
}
ASKED = {"approve": "chat/local/zone-a", "reject": "chat/local/zone-b"}
"""What the runs are about that a journey approves and rejects."""


class Engine:
    """One worker, woken by the sweeper alone."""

    def __init__(self, database: Database) -> None:
        self._database, self._woken = database, Mailbox()
        actions: ActionRegistry = Registry("action")
        register(actions)
        ports: dict[type, object] = {
            Platform: MemoryPlatform(database.clock),
            Approvals: StoreApprovals(database),
            SignalReader: Signals(database.clock),
        }
        self._executor = Executor(database, actions, ports, self._woken.append, database.clock, "worker-1")

    def begin(self) -> dict[str, str]:
        """Start a run for each thing that a journey decides, wait until they ask, and return their ids."""
        playbook = Playbook.model_validate(PLAYBOOK)
        policy = Policy.model_validate(
            {"kind": "Policy", "metadata": {"name": "policy"}, "spec": {"mode": "auto"}}
        )
        with self._database.transaction() as tx:
            documents = {"Service": SERVICE, "Playbook": playbook, "Policy": policy}
            pins = {kind: tx.documents.put(document) for kind, document in documents.items()}
            found = {}
            for name, target in ASKED.items():
                request = StartRequest.of_playbook(
                    playbook, SERVICE, pins, target=target, started_by="cli:ada", reason="tried by hand"
                )
                found[name] = start_run(tx, request, self._woken.append).id
        self.go_on()
        return found

    def go_on(self) -> None:
        """Do what is due."""
        sweep(self._database, self._woken.append)
        for run_id in self._woken.take():
            self._executor.advance(run_id)
