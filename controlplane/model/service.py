"""The kind Service: one inference deployment group and how it is seen and steered.

This first shape holds what the loop on the embedded fleet needs: engine, zones, how
traffic is shifted, how metrics are labelled. It grows with the features that read it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from controlplane.model.base import Mode, Model, Name, PositiveDuration
from controlplane.model.kind import Kind
from controlplane.model.target import DEFAULT_CLUSTER, Target

Prompt = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]


class Zone(Model):
    """An availability zone in which the service runs."""

    name: Name
    gpus_per_replica: int = Field(default=1, ge=1)
    role: Literal["active", "standby"] = "active"


class Traffic(Model):
    """What steers new requests between the zones."""

    via: Literal["lab", "memory"] = Field("lab", description="the embedded fleet's gateway")


class Tier(Model):
    """A class of clients, told apart by the value of a request header."""

    name: Name
    may_shed: bool = Field(
        default=False, description="whether its requests may be refused so that others are served"
    )


class MetricLabels(Model):
    """What the labels are called in this service's metrics."""

    service: str = "service"
    zone: str = "zone"
    node: str = "node"
    replica: str = "replica"


class Objectives(Model):
    """What a request must meet to be effective: the bounds of eTPM."""

    ttft: PositiveDuration = Field(1.0, description="time to first token", validate_default=False)
    tpot: PositiveDuration = Field(
        0.05, description="time per output token after the first", validate_default=False
    )


class Canary(Model):
    """Known questions, asked past the weights so that an evacuated target can prove itself."""

    every: PositiveDuration = Field(2.0, validate_default=False)
    timeout: PositiveDuration = Field(
        2.0, description="an answer later than this counts as none", validate_default=False
    )
    max_tokens: int = Field(8, ge=2, le=64)


class Economics(Model):
    """What the service costs and earns; without it there is no cost and no return to show."""

    currency: str = Field("USD", pattern=r"^[A-Z]{3}$", description="of all amounts, by ISO 4217")
    gpu_hour: float = Field(ge=0, description="what a GPU costs for an hour, busy or not")
    pue: float = Field(1.0, ge=1, description="power of the whole site over that of its machines")
    power_price: float = Field(0.0, ge=0, description="of a kWh, where the GPU hour does not include it")
    token_price: float | None = Field(None, ge=0, description="what a million output tokens earn")


class ServiceSpec(Model):
    engine: Literal["vllm", "sglang", "tgi", "triton", "trtllm", "dynamo", "nim"] = Field(
        "vllm", description="whose metrics it has: the name of an engine profile"
    )
    model: str = Field(description="the model's name as the engine serves it")
    cluster: Name = DEFAULT_CLUSTER
    zones: tuple[Zone, ...] = Field(min_length=1)
    traffic: Traffic = Traffic()
    metric_labels: MetricLabels = MetricLabels()
    effective: Objectives = Objectives()
    canary: Canary = Canary()
    tiers: tuple[Tier, ...] = Field((), description="classes of clients, the most important first")
    prompts: tuple[Prompt, ...] = Field(
        (),
        max_length=50,
        description="what many prompts begin with, such as system prompts: replicas that come back with an "
        "empty cache answer them before users come",
    )
    economics: Economics | None = None
    mode: Mode | None = Field(None, description="a stricter mode for this service than the policy's")


class Service(Kind):
    KIND: ClassVar[str] = "Service"

    kind: Literal["Service"] = "Service"
    spec: ServiceSpec

    @property
    def target(self) -> Target:
        return Target(self.name, self.spec.cluster)

    @property
    def sheddable(self) -> list[str]:
        """Names of the tiers of clients that may be shed, as written."""
        return [tier.name for tier in self.spec.tiers if tier.may_shed]

    @property
    def zones(self) -> list[str]:
        """Names of the zones, as written: what expressions call ``service.zones``."""
        return [zone.name for zone in self.spec.zones]

    @property
    def prompts(self) -> list[str]:
        """What many prompts begin with: what expressions call ``service.prompts``."""
        return list(self.spec.prompts)
