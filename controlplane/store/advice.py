"""What advice rests on, as it is stored: the Service, and what the controller last measured of it."""

from __future__ import annotations

from pydantic import ValidationError

from controlplane.kernel.errors import NotFound
from controlplane.kernel.registry import did_you_mean
from controlplane.model.advice import INDICATORS, IndicatorsSnapshot
from controlplane.model.service import Service
from controlplane.store.transaction import Transaction


def service_of(tx: Transaction, name: str) -> Service:
    """Return the Service in force, or raise `NotFound` with the nearest one."""
    known = {each.name: each for each in tx.documents.active("Service")}
    if name not in known:
        msg = f"no Service `{name}` is in force"
        raise NotFound(msg, hint=did_you_mean(name, list(known)) if known else "apply its file first")
    return Service.model_validate(known[name].body)


def readings(tx: Transaction, service: str) -> IndicatorsSnapshot | None:
    """Return what was last measured; None before a controller looked, or of another version."""
    body = tx.snapshots.get(INDICATORS, service=service)
    try:
        return None if body is None else IndicatorsSnapshot.model_validate(body)
    except ValidationError:
        return None
