"""What a drill's steps ask of the outside, and where it is found for the embedded fleet.

The engine's ports must hold two keys for drills: `controlplane.store.database.Database`, which
the control plane gives, and `DrillPorts`, which `lab_ports` gives through the entry point group
``fleetward.ports``. Addresses are read from the state directory at their first use, because a
worker may be up before the fleet is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import httpx

from chaos.drills.probes import TIMEOUT, Queries, TruthFeed
from chaos.drills.truth import Truth
from chaos.drivers.lab import LabDriver
from chaos.drivers.port import Driver
from chaos.faults import catalogue
from chaos.faults.base import FaultRegistry
from controlplane.kernel.errors import Unavailable
from controlplane.model.service import Objectives


class Evidence(Protocol):
    """Port: what the clients got and what the platform shows; never what the control plane thinks.

    Every call may raise `Unavailable`. Times are unix seconds.
    """

    def truth(self, since: float, objectives: Objectives) -> Truth:
        """Return the requests planned from ``since`` on, as known now."""
        ...

    def planned_tokens(self, start: float, end: float) -> float | None:
        """Return the output tokens planned to arrive in [start, end); None where no plan is told."""
        ...

    def instant(self, query: str) -> float | None:
        """Return the one value of a PromQL query now; None without samples."""
        ...

    def weights(self) -> dict[str, int]:
        """Return the weights of the zones that new requests follow."""
        ...

    def weights_changed_at(self) -> float | None:
        """Return when the weights were last written; None if they never were."""
        ...

    def close(self) -> None:
        """Give up connections; it may be used again afterwards."""
        ...


@dataclass(frozen=True, slots=True)
class DrillPorts:
    """All that a drill's steps use beside the database. ``reports`` is the folder they are saved in."""

    driver: Driver
    evidence: Evidence
    faults: FaultRegistry
    reports: Path


class LabEvidence:
    """Implements `Evidence` over the lab's traffic generator, Prometheus and gateway."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    @cached_property
    def _client(self) -> httpx.Client:
        return httpx.Client(timeout=TIMEOUT, trust_env=False)

    @cached_property
    def _feed(self) -> TruthFeed:
        return TruthFeed(self._address("traffic"), self._client)

    @cached_property
    def _queries(self) -> Queries:
        return Queries(self._address("prometheus"), self._client)

    def truth(self, since: float, objectives: Objectives) -> Truth:
        return self._feed.read(since, objectives)

    def planned_tokens(self, start: float, end: float) -> float | None:
        return self._feed.planned_tokens(start, end)

    def instant(self, query: str) -> float | None:
        return self._queries.instant(query)

    def weights(self) -> dict[str, int]:
        answer = self._get("/v1/weights")
        return {str(zone): int(weight) for zone, weight in answer["weights"].items()}

    def weights_changed_at(self) -> float | None:
        writes = [write for write in self._get("/v1/writes")["writes"] if write["op"] == "weights"]
        return datetime.fromisoformat(writes[-1]["at"]).timestamp() if writes else None

    def close(self) -> None:
        for name in ("_client", "_feed", "_queries"):
            held = self.__dict__.pop(name, None)
            if isinstance(held, httpx.Client):
                held.close()

    def _get(self, path: str) -> Any:
        try:
            return self._client.get(f"{self._address('platform')}{path}").raise_for_status().json()
        except (httpx.HTTPError, ValueError) as error:
            raise Unavailable(f"the lab's gateway did not answer {path}: {error}") from error

    def _address(self, name: str) -> str:
        try:
            return str(json.loads((self._state_dir / "lab.json").read_text())[name])
        except (OSError, ValueError, LookupError) as error:
            hint = "start it with `fleetward up`"
            raise Unavailable(f"no lab is up under {self._state_dir}", hint=hint) from error


def lab_drill_ports(state_dir: Path) -> DrillPorts:
    """Return what drills use of the fleet under ``state_dir``, whether it is up or not."""
    return DrillPorts(
        driver=LabDriver(state_dir),
        evidence=LabEvidence(state_dir),
        faults=catalogue(),
        reports=state_dir / "reports",
    )


def lab_ports(state_dir: Path) -> dict[type, object]:
    """Return the engine's port for drills; chaos's entry point in ``fleetward.ports``."""
    return {DrillPorts: lab_drill_ports(state_dir)}
