"""Alertmanager's webhook message, version 4, as it arrives; and what is answered.

Keys that are not read here are let through: newer versions add some. Older ones leave the
single alert's status and fingerprint out.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from controlplane.model.base import Model

Text = Annotated[str, StringConstraints(max_length=8192)]
Pairs = Annotated[dict[Text, Text], Field(max_length=100)]
Status = Literal["firing", "resolved"]

_OFFSET, _PRIME = 14695981039346656037, 1099511628211


class Sent(BaseModel):
    """Base of what somebody else's program sends."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class SentAlert(Sent):
    """One alert of a message."""

    status: Status | None = Field(None, description="without it, the message's")
    labels: Pairs
    annotations: Pairs = Field(default_factory=dict)
    starts_at: AwareDatetime
    ends_at: AwareDatetime | None = Field(None, description="the year 1 while it fires")
    fingerprint: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{1,64}$")] | None = None


class AlertMessage(Sent):
    """A notification of one group of alerts."""

    version: Literal["4"] = "4"
    status: Status
    receiver: Annotated[str, StringConstraints(max_length=500)] = ""
    alerts: tuple[SentAlert, ...] = Field(max_length=2000)


class AlertReceipt(Model):
    """How many alerts a message held, and how many of them were news."""

    received: int
    changed: int


def fingerprint(labels: dict[str, str]) -> str:
    """Return what Alertmanager calls a set of labels: FNV-1a over names and values in order."""
    total = _OFFSET
    for name in sorted(labels):
        for byte in name.encode() + b"\xff" + labels[name].encode() + b"\xff":
            total = ((total ^ byte) * _PRIME) & 0xFFFFFFFFFFFFFFFF
    return f"{total:016x}"
