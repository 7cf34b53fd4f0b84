"""Other people's alerts as signals of our own: where each belongs, and whether it stands.

An alert names a part of a service by the labels that the service's metrics have. Alerts of
one name at one target are one signal, so that they are one incident. An incident whose
alerts have all ended is measured on, as good, until it is closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from controlplane.model.records import Alert
from controlplane.model.service import Service
from controlplane.model.signals import SignalState, Verdict
from controlplane.model.target import Signal, Target
from controlplane.model.triggers.alert import ALERT, NAME

SOURCE = "alertmanager"
TICKETS = frozenset({"warning", "info", "none", "ticket", "low", "minor"})
"""Values of the label ``severity`` that call nobody out of bed."""

Grouped = dict[Signal, list[Alert]]


def place(labels: Mapping[str, str], service: Service, targets: Sequence[Target]) -> Target | None:
    """Return the narrowest part of the service that the labels name; None if they name another service.

    A part that the fleet does not have leaves the next wider one.
    """
    names = service.spec.metric_labels
    if labels.get(names.service) != service.name:
        return None
    best = service.target
    for label in (names.zone, names.node, names.replica):
        wanted = labels.get(label)
        if wanted:
            found = (target for target in targets if target.name == wanted and best.contains(target))
            best = next((target for target in found if target != best), best)
    return best


def group(alerts: Iterable[Alert], service: Service, targets: Sequence[Target]) -> Grouped:
    """Sort the alerts that stand by their signals."""
    found: Grouped = {}
    for alert in alerts:
        target = place(alert.labels, service, targets)
        if target is not None:
            name = alert.labels.get(NAME, "alert").replace("@", "_") or "alert"
            found.setdefault(Signal(ALERT, name, target), []).append(alert)
    return found


def verdicts(
    grouped: Grouped, open_signals: Iterable[str], now: datetime, *, clients: bool | None
) -> list[Verdict]:
    """Judge every signal of alerts that stand, or whose incident is open.

    ``clients``: what the objectives say of whether the clients are well.
    """
    signals = {Signal.parse(text) for text in open_signals if text.startswith(f"{ALERT}:")}
    wanted = sorted(signals | grouped.keys(), key=str)
    return [_verdict(signal, grouped.get(signal, ()), now, clients=clients) for signal in wanted]


def _verdict(signal: Signal, alerts: Sequence[Alert], now: datetime, *, clients: bool | None) -> Verdict:
    oldest = min(alerts, key=lambda alert: alert.starts_at, default=None)
    told = oldest.annotations if oldest is not None else {}
    state = SignalState(
        good=not alerts,
        value=float(len(alerts)),
        objective=0.0,
        samples=1.0,
        since=now if oldest is None else min(now, oldest.starts_at),
        until=now,
        clients_good=clients,
        detail=(told.get("summary") or told.get("description") or "")[:300],
    )
    severities = {alert.labels.get("severity", "").lower() for alert in alerts}
    return Verdict(
        signal,
        state,
        tiers=(ALERT,) if alerts else (),
        severity="ticket" if severities <= TICKETS else "page",
        accusers=frozenset({SOURCE}) if alerts else frozenset(),
    )
