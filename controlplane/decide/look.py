"""What triggers measure for themselves at a tick, and what they are shown for it.

Kept apart from which playbooks an incident calls for (`controlplane.decide.triggers`): that is
asked where nothing is measured. It judges nothing itself: a trigger's own verdicts do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from controlplane.decide.signals import Sight
from controlplane.kernel.clock import from_unix
from controlplane.model.base import Level
from controlplane.model.playbook import Playbook
from controlplane.model.signals import Verdict
from controlplane.model.target import Signal, Target
from controlplane.observe.measures import Measures, is_instant


@dataclass(frozen=True, slots=True)
class Look:
    """What trigger types are shown of one service at one tick: `controlplane.model.triggers.base.Look`."""

    targets: Sequence[Target]
    measures: Measures
    sight: Sight
    sources: Mapping[str, str] = field(default_factory=dict)
    budgets: Mapping[tuple[str, Target], float] = field(default_factory=dict)

    @property
    def at(self) -> datetime:
        return self.sight.at

    def value(self, indicator: str, target: Target) -> float | None:
        blind = self.is_blind(indicator, target.level)
        return None if blind else self.measures.value(indicator, target)

    def budget(self, slo: str, target: Target) -> float | None:
        return self.budgets.get((slo, target))

    def since(self, indicator: str) -> datetime:
        since = self.measures.store.window_start(0.0 if is_instant(indicator) else self.measures.short)
        return self.at if since is None else from_unix(since)

    def is_blind(self, indicator: str, level: Level) -> bool:
        return self.sight.is_blind(indicator, level)

    def accusers(self, indicator: str, target: Target) -> frozenset[str]:
        return self.sight.accusers(indicator, target)


def measured(playbooks: Sequence[Playbook], look: Look) -> list[Verdict]:
    """Measure what the playbooks' triggers ask for; of two that ask for one signal the more eager counts."""
    found: dict[Signal, Verdict] = {}
    for playbook in playbooks:
        for trigger in playbook.spec.triggers:
            for verdict in trigger.verdicts(look):
                before = found.get(verdict.signal)
                if before is None or verdict.hold < before.hold:
                    found[verdict.signal] = verdict
    return list(found.values())
