"""The kind Policy: one per control plane, the frame that playbooks and drills may only tighten."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from controlplane.model.base import Mode, Model, Name, Quantity, Ratio
from controlplane.model.kind import Kind
from controlplane.model.playbook import Limits
from controlplane.model.windows import Window


class Channel(Model):
    """Where notifications go: one HTTP POST of JSON, or a line of the log of the worker that sends them."""

    name: Name
    url: str | None = Field(None, pattern=r"^https?://", description="the address of a webhook")
    log: bool = Field(
        default=False, description="in place of `url`: where logs are what people watch, as on a laptop"
    )

    @model_validator(mode="after")
    def _goes_to_one_place(self) -> Self:
        if (self.url is None) != self.log:
            msg = "write either `url` or `log: true`"
            raise ValueError(msg)
        return self


class Storm(Model):
    """When so much is bad at once, the observer is suspected and nothing new is started."""

    all_zones_bad: bool = Field(True, description="refuse while every zone of a service is bad at once")
    max_unhealthy: Ratio = Field(
        0.67, description="refuse while more than this share of replicas is unhealthy"
    )


class PolicySpec(Model):
    mode: Mode = "auto"
    environment: Name = Field("lab", description="drills must name it")
    limits: Limits = Limits(max_zones=Quantity.parse(1), min_healthy=Quantity.parse("50%"))
    protected: tuple[str, ...] = Field((), description="targets (text form) that automation never takes out")
    storm: Storm = Storm()
    freeze: tuple[Window, ...] = Field((), description="no drill, and only playbooks that say so")
    maintenance: tuple[Window, ...] = Field((), description="when playbooks that ask for it may start")
    channels: tuple[Channel, ...] = ()


class Policy(Kind):
    KIND: ClassVar[str] = "Policy"

    kind: Literal["Policy"] = "Policy"
    spec: PolicySpec
