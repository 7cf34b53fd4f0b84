"""Triggers on a card's errors: codes of the driver (XIDs) and bad fields of its health."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from controlplane.model.records import Incident
from controlplane.model.target import Signal
from controlplane.model.triggers.base import Facts, Trigger
from controlplane.model.xid import Rung, XidClass, ailment, code_of

GPU = "gpu"


class GpuTrigger(Trigger):
    """Fires on a card's error, by class, code or rung; ``incident.xid``, ``incident.rung`` say which."""

    type: Literal["gpu"]
    classes: tuple[XidClass, ...] = Field((), description="what is at fault; without any, all but warnings")
    xids: tuple[int, ...] = Field((), description="codes; without any, all codes and health")
    rungs: tuple[Rung, ...] = Field((), description="where the ladder stands; without any, all")

    @model_validator(mode="after")
    def _says_codes(self) -> Self:
        if any(code < 1 for code in self.xids):
            msg = "an XID is a number from 1"
            raise ValueError(msg)
        return self

    def describe(self) -> str:
        parts = [*self.classes, *map(str, self.xids), *self.rungs]
        return f"gpu:{','.join(parts) or 'any'}"

    @property
    def mends(self) -> bool:
        return True

    def answers(self, signal: Signal) -> bool:
        if signal.kind != GPU:
            return False
        fault = ailment(signal.name).fault
        wanted = fault in self.classes if self.classes else fault != "warning" or bool(self.xids)
        return wanted and (not self.xids or code_of(signal.name) in self.xids)

    def matches(self, incident: Incident, facts: Facts) -> bool:
        return super().matches(incident, facts) and (not self.rungs or incident.tier in self.rungs)


def is_event(signal: Signal) -> bool:
    """Tell a code, which has come up, from a bad field, which stands for as long as it is shown."""
    return code_of(signal.name) is not None
