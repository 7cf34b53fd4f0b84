"""What a drill's steps ask of the outside, and where it is found for the embedded fleet.

The engine's ports must hold two keys for drills: `controlplane.store.database.Database`, which
the control plane gives, and `DrillPorts`, which `lab_ports` gives through the entry point group
``fleetward.ports``. Addresses are read from the state directory at their first use, because a
worker may be up before the fleet is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from chaos.drills.truth import Truth
from chaos.drivers.port import Driver
from chaos.faults.base import FaultRegistry
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


def lab_drill_ports(state_dir: Path) -> DrillPorts:
    """Return what drills use of the fleet under ``state_dir``, whether it is up or not."""
    # Here, since what a drill's steps declare is asked of them where there is no fleet, and takes no client.
    from chaos.drills.lab_evidence import LabEvidence  # noqa: PLC0415 - as said above
    from chaos.drivers.lab import LabDriver  # noqa: PLC0415 - as said above
    from chaos.faults import catalogue  # noqa: PLC0415 - as said above

    return DrillPorts(
        driver=LabDriver(state_dir),
        evidence=LabEvidence(state_dir),
        faults=catalogue(),
        reports=state_dir / "reports",
    )


def lab_ports(state_dir: Path) -> dict[type, object]:
    """Return the engine's port for drills; chaos's entry point in ``fleetward.ports``."""
    return {DrillPorts: lab_drill_ports(state_dir)}
