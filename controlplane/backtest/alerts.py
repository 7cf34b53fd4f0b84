"""Alerts of the past: what Prometheus says of its own rules (`ALERTS`), as Alertmanager would have sent it.

One stands from the first tick at which it is firing until the first at which it is not. What Alertmanager
silenced, inhibited or never sent is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from controlplane.kernel.errors import FleetwardError
from controlplane.model.playbook import Playbook
from controlplane.model.records import Alert
from controlplane.model.service import Service
from controlplane.observe.series import Source

NAME = "recorded alerts"
_OURS = frozenset({"__name__", "alertstate"})


@dataclass(slots=True)
class RecordedAlerts:
    """Those of one service. ``wanted``: whether any trigger asks for alerts."""

    service: Service
    source: Source
    wanted: bool
    _standing: dict[str, Alert] = field(default_factory=dict)

    def at(self, now: datetime) -> list[Alert]:
        """Return the alerts that stand at a tick."""
        if not self.wanted:
            return []
        label = self.service.spec.metric_labels.service
        text = f'ALERTS{{alertstate="firing", {label}="{self.service.name}"}}'
        rows = self.source.poll({NAME: text}, now)[NAME]
        if isinstance(rows, FleetwardError):
            return list(self._standing.values())
        found = {}
        for row in rows:
            labels = {key: value for key, value in row.labels.items() if key not in _OURS}
            key = ",".join(f"{name}={labels[name]}" for name in sorted(labels))
            found[key] = self._standing.get(key) or _alert(key, labels, now)
        self._standing = found
        return list(found.values())


def names_of(playbooks: Iterable[Playbook]) -> list[str]:
    """Return the playbooks that have a trigger on alerts, by name."""
    return sorted(
        playbook.name
        for playbook in playbooks
        if any(trigger.type == "alert" for trigger in playbook.spec.triggers)
    )


def _alert(key: str, labels: dict[str, str], now: datetime) -> Alert:
    return Alert(fingerprint=key, starts_at=now, status="firing", labels=labels, received_at=now, seen_at=now)
