"""What can be set from outside: environment variables ``FLEETWARD_…``, and the state directory.

Only bootstrap and the entry points read this; everything below is handed plain values.
Addresses that are not set are taken from what the embedded fleet wrote into the state
directory when it came up, so that on one machine nothing needs to be set at all.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from controlplane.kernel.errors import Unavailable


class Settings(BaseSettings):
    """One flat group; each field says its unit. Read once, at the start of a process."""

    model_config = SettingsConfigDict(env_prefix="FLEETWARD_", frozen=True, extra="ignore")

    state_dir: Path = Field(
        Path(".fleetward"), description="where everything that lives between starts is kept"
    )
    database_url: str | None = Field(
        None, description="SQLAlchemy URL; SQLite under the state directory if unset"
    )
    broker_url: str | None = Field(
        None, description="Redis URL that carries wake-ups; the embedded one if unset"
    )
    prometheus_url: str | None = Field(None, description="Prometheus HTTP API; the embedded fleet's if unset")
    alertmanager_url: str | None = Field(
        None,
        description="Alertmanager, asked for alerts whose end is never sent; nobody if unset",
    )
    platform_url: str | None = Field(None, description="the lab's control API; the embedded fleet's if unset")
    api_host: str = Field("127.0.0.1", description="address the API listens on")
    api_port: int = Field(8700, ge=0, le=65535, description="port of the API; 0 takes a free one")
    api_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="names the API is reached by beside loopback, separated by commas"
    )
    outgoing_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="hosts that `http.request` may call, separated by commas; `*` stands for any part of a "
        "name. None by default",
    )
    tick_seconds: float = Field(
        2.0, gt=0, allow_inf_nan=False, description="time between two looks at the metrics"
    )
    lag_seconds: float = Field(
        0.3, ge=0, allow_inf_nan=False, description="how far behind now a tick looks: scrapes take time"
    )
    lease_seconds: float = Field(
        15.0,
        ge=6,
        allow_inf_nan=False,
        description="how long a run belongs to a worker without a sign of life; over a call's 5 s",
    )

    @field_validator("api_hosts", "outgoing_hosts", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value

    @field_validator("prometheus_url", "alertmanager_url", "platform_url")
    @classmethod
    def _address(cls, value: str | None) -> str | None:
        if value and not value.startswith(("http://", "https://")):
            msg = "write an address that begins with http:// or https://"
            raise ValueError(msg)
        return value

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.state_dir.resolve() / 'fleetward.db'}"

    @property
    def broker(self) -> str:
        return self.broker_url or self._from_file("fleet.json", "broker", "a Redis URL")

    @property
    def prometheus(self) -> str:
        return self.prometheus_url or self._from_file("lab.json", "prometheus", "a Prometheus URL")

    @property
    def platform(self) -> str:
        return self.platform_url or self._from_file("lab.json", "platform", "a platform URL")

    @property
    def api(self) -> str:
        """The API's address as people reach it: what a running fleet says, else host and port."""
        try:
            return self._from_file("fleet.json", "api", "the API")
        except Unavailable:
            return f"http://{self.api_host}:{self.api_port}"

    def _from_file(self, file: str, key: str, what: str) -> str:
        path = self.state_dir / file
        try:
            found: dict[str, Any] = json.loads(path.read_text())
            return str(found[key])
        except (OSError, ValueError, KeyError) as error:
            variable = f"FLEETWARD_{'BROKER' if key == 'broker' else key.upper()}_URL"
            message = f"{what} is not known: {path} does not say it"
            raise Unavailable(
                message, hint=f"start the embedded fleet with `fleetward up`, or set {variable}"
            ) from error
