"""Starting a run of a playbook that only a test knows, on the database of a running fleet."""

from __future__ import annotations

from controlplane.act.start import StartRequest, Wake, start_run
from controlplane.model.documents import load_bundle
from controlplane.model.playbook import Playbook
from controlplane.model.records import Run
from controlplane.model.service import Service
from controlplane.store.database import Database


def start_playbook(database: Database, text: str, target: str, wake: Wake | None = None) -> Run:
    """Store the playbook's revision and start its run with what is in force; the sweeper sends it."""
    found = list(load_bundle([("test.yaml", text)]).raise_problems().of("Playbook").values())
    assert len(found) == 1
    playbook = found[0]
    assert isinstance(playbook, Playbook)
    with database.transaction() as tx:
        service = tx.documents.find("Service", target.split("/", maxsplit=1)[0])
        assert service is not None, f"the fleet has no service of {target}"
        (policy,) = tx.documents.active("Policy")
        pins = {"Playbook": tx.documents.put(playbook), "Service": service.sha256, "Policy": policy.sha256}
        request = StartRequest.of_playbook(
            playbook, Service.model_validate(service.body), pins, target=target, started_by="test"
        )
        return start_run(tx, request, wake)


def ramp(name: str, zone: str, weight: int, over: str) -> str:
    """Return the text of a playbook that takes a zone to a weight along a ramp."""
    return f"""
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {{name: {name}}}
spec:
  description: Take {zone} to {weight} within {over}.
  triggers: [{{type: manual}}]
  steps:
    - id: shift
      uses: traffic.shift
      with: {{zone: {zone}, weight: {weight}, over: {over}}}
      timeout: 5m
      retry: {{limit: 10, backoff: {{duration: 1s, maxDuration: 5s}}}}
"""
