"""What was declared about the fleet's parts: who is in rotation, which nodes may be given new work.

Like the weights it lives in the write log and nowhere else: a part that nobody ever wrote about
stands at its default. A declaration is of the slot's name, so it outlives what fills the slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from chaos.lab.gateway.writelog import ROTATION, SCHEDULABLE, WriteLog
from controlplane.model.target import Target

DEFAULTS: dict[str, Any] = {ROTATION: True, SCHEDULABLE: True}


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


def reset(log: WriteLog) -> None:
    """Put everything back to its default, as logged effects: the fleet that it was about is gone."""
    declared = Declared(log)
    for op, default in DEFAULTS.items():
        for target in declared.unlike_default(op):
            before = declared.get(op, target).value
            version = str(log.next_seq)
            log.append(log.draft(op, str(target), before=before, after=default, version=version, by=None))
