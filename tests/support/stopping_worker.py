"""A worker that stops itself, once, in the very moment before its first write to the platform.

The engine, its ports and the fleet's addresses are the real ones; only the moment is chosen. It
starts a run and advances it itself, so that it surely is the first to hold it. It leaves further
turns to the fleet's own worker. Arguments: a state directory, a playbook file, a target. Writes the
run's id to standard output, and what the engine logs to standard error.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from controlplane.act.executor import Executor
from controlplane.bootstrap.database import open_database
from controlplane.bootstrap.documents import action_registry
from controlplane.bootstrap.engine import open_ports, process_name
from controlplane.carrier import Sender
from controlplane.cli import logs
from controlplane.model.target import Target
from controlplane.model.topology import Topology, Weights, WriteRecord, WriteTag
from controlplane.platforms.port import Platform
from controlplane.settings import Settings
from tests.support.playbook_runs import start_playbook


class StoppingPlatform:
    """Implements `controlplane.platforms.port.Platform` over another, and stops this process once."""

    def __init__(self, inner: Platform) -> None:
        self._inner = inner
        self._has_stopped = False

    def topology(self, service: str) -> Topology:
        return self._inner.topology(service)

    def weights(self, service: str) -> Weights:
        return self._inner.weights(service)

    def set_weights(
        self, service: str, changes: Mapping[str, int], *, expected_version: str | None, by: WriteTag | None
    ) -> Weights:
        if not self._has_stopped:
            self._has_stopped = True
            os.kill(os.getpid(), signal.SIGSTOP)
        return self._inner.set_weights(service, changes, expected_version=expected_version, by=by)

    def restart_replica(
        self, target: Target, *, expected_uid: str | None, reason: str, by: WriteTag | None
    ) -> str:
        return self._inner.restart_replica(target, expected_uid=expected_uid, reason=reason, by=by)

    def writes(self, after: int = 0) -> list[WriteRecord]:
        return self._inner.writes(after)


def main(state_dir: Path, playbook: Path, target: str) -> None:
    """Start the run, and advance it for one turn."""
    logs.configure()
    settings = Settings(state_dir=state_dir)
    database = open_database(settings)
    ports = open_ports(settings, database)
    ports[Platform] = StoppingPlatform(cast("Platform", ports[Platform]))
    executor = Executor(
        database,
        action_registry(),
        ports,
        Sender(settings.broker),
        database.clock,
        process_name("stopping-worker"),
    )

    def advance(run_id: str) -> None:
        sys.stdout.write(f"{run_id}\n")
        sys.stdout.flush()
        executor.advance(run_id)

    start_playbook(database, playbook.read_text(), target, wake=advance)
    database.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
