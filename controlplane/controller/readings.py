"""Every indicator of the library at one service, left behind now and then for who explains and advises."""

from __future__ import annotations

import math
from datetime import datetime

from controlplane.model.advice import INDICATORS, IndicatorsSnapshot
from controlplane.observe.library import INDICATORS as LIBRARY
from controlplane.observe.measures import Measures
from controlplane.store.transaction import Transaction

EVERY = 10.0
"""Seconds between two times."""


def leave_readings(
    tx: Transaction, measures: Measures, at: datetime, now: datetime, last: datetime | None
) -> datetime | None:
    """Write them down when it is time; return when they were last written."""
    if last is not None and (now - last).total_seconds() < EVERY:
        return last
    place = measures.service.target
    found = {name: measures.value(name, place) for name in LIBRARY}
    known = {name: value for name, value in found.items() if value is not None and math.isfinite(value)}
    snapshot = IndicatorsSnapshot(at=now, evaluated_at=at, values={**dict.fromkeys(found), **known})
    body = snapshot.model_dump(mode="json", by_alias=True)
    tx.snapshots.put(INDICATORS, body, service=measures.service.name, at=now)
    return now
