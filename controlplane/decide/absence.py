"""Absence: an objective that has had no events for too long is an incident of its own.

Silence never means healthy and never means bad; but a silence that was not expected is
worth a person's look. Only where traffic should flow is it missed: at the service, and at
zones that take traffic. No remedy hangs on it.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from datetime import datetime

from controlplane.model.signals import SignalState, Verdict
from controlplane.model.slo import Slo
from controlplane.model.target import Signal, Target

NO_DATA = "noData"
_TIER = "absent"


def absences(
    slos: Sequence[Slo],
    verdicts: Sequence[Verdict],
    traffic: Mapping[Target, bool | None],
    last_seen: MutableMapping[Signal, datetime],
    now: datetime,
) -> list[Verdict]:
    """Return a verdict on the presence of every SLO that asks for one.

    ``last_seen`` is the caller's memory of when each signal last had events; it is brought
    up to date here, and a signal begins at its first sight, not in the past.
    """
    limits = {slo.name: slo.spec.no_data.alert_after for slo in slos}
    found = []
    for verdict in verdicts:
        signal, limit = verdict.signal, limits.get(verdict.signal.name)
        if signal.kind != "slo" or limit is None or signal.target.level not in {"service", "zone"}:
            continue
        missed = traffic.get(signal.target) is not False
        if verdict.state.samples > 0 or not missed or signal not in last_seen:
            last_seen[signal] = now
        silent = (now - last_seen[signal]).total_seconds()
        state = SignalState(
            good=silent < limit,
            value=silent,
            objective=limit,
            samples=verdict.state.samples,
            since=last_seen[signal],
            until=now,
            detail="" if silent < limit else "seconds without any event where traffic should flow",
        )
        tiers = () if silent < limit else (_TIER,)
        found.append(Verdict(Signal(NO_DATA, signal.name, signal.target), state, tiers, severity="ticket"))
    return found
