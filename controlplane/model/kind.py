"""The envelope of everything operators write: apiVersion, kind, metadata, spec, as in Kubernetes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from controlplane.model.base import Model, Name

API_VERSION = "fleetward.dev/v1"


class Metadata(Model):
    name: Name
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


class Kind(Model):
    """Base of all kinds. Subclasses narrow ``kind`` and ``spec``."""

    KIND: ClassVar[str]

    api_version: Literal["fleetward.dev/v1"] = "fleetward.dev/v1"
    kind: str
    metadata: Metadata
    spec: Any

    @property
    def name(self) -> str:
        return self.metadata.name
