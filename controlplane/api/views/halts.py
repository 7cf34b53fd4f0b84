"""A halt as it is asked for."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from controlplane.model.base import Duration, Model, Name

Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=3, max_length=500)]


class HaltRequest(Model):
    """Where automation stops, for how long and why. Without a scope it stops everywhere."""

    service: Name | None = None
    zone: Name | None = None
    target: str | None = Field(default=None, description="a part of the fleet, chat/local/zone-a/node-a1")
    for_: Duration | None = Field(default=None, alias="for", description="without it: until lifted")
    reason: Reason

    @model_validator(mode="after")
    def _has_one_scope(self) -> Self:
        if self.target is not None and (self.service is not None or self.zone is not None):
            msg = "write either `target`, or `service` and `zone`"
            raise ValueError(msg)
        return self
