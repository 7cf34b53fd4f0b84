"""What a tick starts from: the documents in force, and the fleet as the platform shows it.

Documents are read again only when one of them changed. A platform that does not answer
leaves the last picture, marked as no longer fresh; it is never made up.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime

from controlplane.kernel.errors import FleetwardError
from controlplane.model.overview import SourceState
from controlplane.model.playbook import Playbook
from controlplane.model.policy import Policy, PolicySpec
from controlplane.model.service import Service
from controlplane.model.slo import Slo
from controlplane.model.topology import Topology, Weights
from controlplane.platforms.port import Platform
from controlplane.store.transaction import Transaction

PLATFORM = "platform"
PATIENCE = 1.0
"""Seconds that a tick waits for the platform."""
LOST_AFTER = 30.0
"""Seconds after which a source that does not answer is lost, not merely stale."""


_Seen = tuple[Weights, Topology, tuple[str, ...]]
"""What one look at the platform yields: weights, topology, the tiers that are refused."""


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents in force, and the hash of each revision by kind and name."""

    services: Mapping[str, Service] = field(default_factory=dict)
    slos: Mapping[str, Slo] = field(default_factory=dict)
    playbooks: Mapping[str, Playbook] = field(default_factory=dict)
    policy: PolicySpec = field(default_factory=PolicySpec)
    hashes: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def slos_of(self, service: str) -> list[Slo]:
        return [slo for slo in self.slos.values() if slo.spec.service == service]

    def pins(self, playbook: str, service: str, slo: str | None) -> dict[str, str]:
        """Return the revisions that a run of ``playbook`` executes."""
        found = {"Playbook": ("Playbook", playbook), "Service": ("Service", service)}
        if slo is not None:
            found[f"SLO/{slo}"] = ("SLO", slo)
        pins = {name: self.hashes[key] for name, key in found.items() if key in self.hashes}
        pins.update((kind, sha256) for (kind, _), sha256 in self.hashes.items() if kind == Policy.KIND)
        return pins


class DocumentCache:
    """Reads the documents in force when their pointers changed."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}
        self._documents = Documents()

    def read(self, tx: Transaction) -> Documents:
        """Return the documents in force now."""
        hashes = tx.documents.pointers()
        if hashes != self._known:
            self._documents = self._load(tx, hashes)
            self._known = hashes
        return self._documents

    @staticmethod
    def _load(tx: Transaction, hashes: Mapping[tuple[str, str], str]) -> Documents:
        models = [tx.documents.load(sha256) for sha256 in hashes.values()]
        policies = [model.spec for model in models if isinstance(model, Policy)]
        return Documents(
            services={model.name: model for model in models if isinstance(model, Service)},
            slos={model.name: model for model in models if isinstance(model, Slo)},
            playbooks={model.name: model for model in models if isinstance(model, Playbook)},
            policy=policies[0] if policies else PolicySpec(),
            hashes=dict(hashes),
        )


class Fleet:
    """One service's fleet as last seen. ``read_at``: when the platform was asked for it.

    The platform is asked in a thread, one question at a time, and waited for a little while:
    a platform that hangs makes the fleet's picture old, not the tick.
    """

    def __init__(self, platform: Platform, service: Service) -> None:
        self.topology: Topology | None = None
        self.weights: Weights | None = None
        self.read_at: datetime | None = None
        self.error = "not asked yet"
        self._platform, self._service = platform, service.name
        self._sheds = bool(service.sheddable)
        self.shed: tuple[str, ...] = ()
        """The tiers of clients that the gateway refuses."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"fleet-{service.name}")
        self._asked: tuple[datetime, Future[_Seen]] | None = None

    def look(self, now: datetime) -> None:
        """Ask the platform; keep the last picture when it does not answer."""
        asked_at, answer = self._asked or (now, self._pool.submit(self._read))
        self._asked = (asked_at, answer)
        try:
            seen = answer.result(PATIENCE)
        except TimeoutError:
            self.error = f"no answer within {PATIENCE:g} s"
            return
        except FleetwardError as error:
            self.error, self._asked = str(error), None
            return
        (self.weights, self.topology, self.shed), self.read_at, self.error = seen, asked_at, ""
        self._asked = None

    def close(self) -> None:
        """Ask no more; an answer that is still on its way is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _read(self) -> _Seen:
        shed = self._platform.admission(self._service).shed if self._sheds else ()
        return self._platform.weights(self._service), self._platform.topology(self._service), shed

    def source(self, now: datetime) -> SourceState:
        """Return the platform as a source of observation."""
        age = (now - self.read_at).total_seconds() if self.read_at else None
        state = "fresh" if not self.error else "stale" if age is not None and age <= LOST_AFTER else "lost"
        fields = {"name": PLATFORM, "state": state, "last_at": self.read_at, "detail": self.error or None}
        return SourceState.model_validate(fields)
