"""The file a node process is started with; the supervisor writes it, `python -m chaos.lab.node` reads it.

It holds addresses and names only. What happens to a node later (faults, restarts) comes
over its socket and is never written back here, so that a respawn starts from the same file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from chaos.lab.settings import EngineSettings
from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.model.base import Model, Name

Port = Annotated[int, Field(ge=1, le=65535, description="TCP port on loopback")]


class ReplicaConfig(Model):
    """One replica slot of a node: its name, its port and the GPU it runs on."""

    name: Name
    port: Port
    gpu_uuid: str = Field(min_length=1, description="as DCGM prints it: GPU-xxxxxxxx-...")


class NodeConfig(Model):
    """Everything one node process needs to know. camelCase in the file, unknown keys refused."""

    service: Name
    cluster: Name
    zone: Name
    node: Name
    model: str = Field(min_length=1, description="model name served, e.g. meta-llama/Llama-3.1-8B-Instruct")
    seed: int = Field(description="seed of every random choice of this node")
    replicas: tuple[ReplicaConfig, ...] = Field(min_length=1)
    standby: tuple[ReplicaConfig, ...] = Field(
        (), description="slots in which nothing runs until it is started: no process, no port that answers"
    )
    dcgm_port: Port
    socket: Path = Field(description="unix socket of the node's own API, created with mode 0600")
    engine: EngineSettings = Field(default_factory=EngineSettings, description="overrides of the defaults")

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [replica.name for replica in self.slots]
        ports = [self.dcgm_port, *(replica.port for replica in self.slots)]
        if len(set(names)) < len(names):
            raise ValueError(f"replica names repeat: {', '.join(names)}")
        if len(set(ports)) < len(ports):
            raise ValueError(f"ports repeat: {', '.join(map(str, ports))}")
        return self

    @property
    def slots(self) -> tuple[ReplicaConfig, ...]:
        """All slots, those that are filled from the start first."""
        return (*self.replicas, *self.standby)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a node's file.

        Raises:
            NotFound: there is no such file.
            InvalidInput: it is not JSON, or a field is wrong; the message names the field.
        """
        try:
            return cls.model_validate_json(path.read_bytes())
        except FileNotFoundError as error:
            raise NotFound(f"no node configuration at {path}") from error
        except ValidationError as error:
            raise InvalidInput(f"{path}: {error}") from error
