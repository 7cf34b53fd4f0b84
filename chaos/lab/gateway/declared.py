"""What was declared: who is in rotation, which nodes may be given new work, what is let in, how many run.

Like the weights it lives in the write log and nowhere else: a part that nobody ever wrote about
stands at its default. A declaration is of the slot's name, so it outlives what fills the slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chaos.lab.gateway.writelog import LIMIT, ROTATION, SCALE, SCHEDULABLE, SHED, WEIGHTS, WriteLog
from chaos.lab.layout import Layout
from controlplane.model.target import Target
from controlplane.model.topology import Admission, Weights

DEFAULTS: dict[str, Any] = {ROTATION: True, SCHEDULABLE: True, LIMIT: None, SHED: [], SCALE: None}


@dataclass(frozen=True, slots=True)
class Value:
    """What stands there; ``version`` moves with every change."""

    value: Any
    version: str


class Declared:
    """Reads the declarations out of a write log."""

    def __init__(self, log: WriteLog) -> None:
        self._log = log

    def get(self, op: str, target: Target) -> Value:
        """The present value, or the default of a part that nobody ever wrote about."""
        record = self._log.newest(op, str(target))
        return Value(DEFAULTS[op], "0") if record is None else Value(record.after, str(record.seq))

    def unlike_default(self, op: str) -> list[Target]:
        """The parts that do not stand at the default."""
        found = [Target.parse(text) for text in self._log.targets(op)]
        return [target for target in found if self.get(op, target).value != DEFAULTS[op]]

    def out_of_rotation(self) -> set[str]:
        """Names of the replicas that shall get no new request."""
        return {target.name for target in self.unlike_default(ROTATION)}

    def scale(self, layout: Layout, zone: str) -> Value:
        """How many replicas a zone shall have; as many as it had from the start where nobody has set it."""
        found = self.get(SCALE, Target(layout.settings.service, layout.settings.cluster, zone))
        return found if found.value is not None else Value(layout.filled(zone), found.version)

    def wanted(self, layout: Layout, zone: str) -> set[str]:
        """Names of the replicas that shall run in a zone."""
        count = int(self.scale(layout, zone).value)
        return {slot.name for _, slot in layout.slots_of(zone)[:count]}

    def admission(self) -> Admission:
        """What the gateway shall let in; the version moves with each change of any part of it."""
        return self.admission_at(self._log.next_seq)

    def admission_at(self, seq: int) -> Admission:
        """What it was to let in after the effect ``seq``."""
        version, limits, shed = "0", dict[str, int](), list[str]()
        for record in self._log.after(0):
            if record.seq > seq or record.op not in {LIMIT, SHED}:
                continue
            version = str(record.seq)
            if record.op == SHED:
                shed = record.after
            elif record.after is None:
                limits.pop(Target.parse(record.target).name, None)
            else:
                limits[Target.parse(record.target).name] = record.after
        return Admission(version=version, limits=limits, shed=tuple(shed))


def desired_weights(layout: Layout, log: WriteLog) -> Weights:
    """The weights last written; before any write, version 1 with 100 for each zone."""
    record = log.last(WEIGHTS)
    if record is None:
        return Weights(version="1", weights=dict.fromkeys(layout.zones, 100))
    return Weights(version=record.version, weights=record.after)


def reset(log: WriteLog) -> None:
    """Put everything back to its default, as logged effects: the fleet that it was about is gone."""
    declared = Declared(log)
    for op, default in DEFAULTS.items():
        for target in declared.unlike_default(op):
            before = declared.get(op, target).value
            version = str(log.next_seq)
            log.append(log.draft(op, str(target), before=before, after=default, version=version, by=None))
