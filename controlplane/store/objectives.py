"""How the objectives of all services stand, as their controllers left it behind."""

from __future__ import annotations

from pydantic import ValidationError

from controlplane.kernel.errors import NotFound
from controlplane.kernel.registry import did_you_mean
from controlplane.model.objectives import OBJECTIVES, ObjectivesSnapshot, ObjectiveStatus
from controlplane.store.transaction import Transaction


def objectives(tx: Transaction) -> list[ObjectivesSnapshot]:
    """Return the snapshot of each service; what another version wrote is none."""
    found = []
    for service in sorted(each.name for each in tx.documents.active("Service")):
        body = tx.snapshots.get(OBJECTIVES, service=service)
        try:
            if body is not None:
                found.append(ObjectivesSnapshot.model_validate(body))
        except ValidationError:
            continue
    return found


def objective(tx: Transaction, name: str) -> tuple[ObjectivesSnapshot, ObjectiveStatus]:
    """Return one objective with the snapshot that it is in."""
    known = [(whole, each) for whole in objectives(tx) for each in whole.objectives]
    for whole, each in known:
        if each.name == name:
            return whole, each
    hint = did_you_mean(name, [each.name for _, each in known]) if known else "no controller has looked yet"
    msg = f"no SLO `{name}` is watched"
    raise NotFound(msg, hint=hint)
