"""What the embedded fleet's clients got, and what its gateway and Prometheus show: evidence for drills.

Addresses are read from the state directory at their first use, because a worker may be up before
the fleet is.
"""

from __future__ import annotations

import json
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx

from chaos.drills.feeds import TIMEOUT, Queries, TruthFeed
from chaos.drills.truth import Truth
from controlplane.kernel.errors import Unavailable
from controlplane.model.service import Objectives


class LabEvidence:
    """Implements `chaos.drills.ports.Evidence` over the lab's traffic generator, Prometheus and gateway."""

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
