"""A worker process for tests: the real carrier and engine, on a fleet that is a file.

The file is an append-only log of effects, so that what happened is counted outside of any
process that may be killed. Arguments: database URL, broker URL, the log's path, a name.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from controlplane import carrier
from controlplane.act.executor import Executor
from controlplane.kernel.clock import SystemClock
from controlplane.kernel.registry import Registry
from controlplane.model.action import (
    Action,
    ActionContext,
    ActionRegistry,
    Change,
    UndoRecord,
    UndoResult,
    UndoStatus,
)
from controlplane.model.base import Model
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.model.target import Target
from controlplane.store.database import Database
from controlplane.worker import run_worker

LEASE_SECONDS = 2.0


class Parameters(Model):
    stages: int
    each: float = 0.02


class Ramp(Action[Parameters]):
    """Writes one line per stage; the log refuses a key that it has, as a platform does."""

    name = "file.ramp"
    parameters = Parameters
    reversible = True

    def __init__(self, log: Path) -> None:
        self.log = log

    def run(self, parameters: Parameters, context: ActionContext) -> Outcome:
        stage = int(context.state.get("stage", 0)) + 1
        change = Change(Target("chat", "local", "zone-a"), "stage", stage - 1, stage)
        with context.effect(change, str(stage)) as tag:
            if f'"{tag.key}"' not in self.log.read_text():
                with self.log.open("a") as file:
                    file.write(json.dumps({"key": tag.key, "stage": stage, "fence": tag.fence}) + "\n")
            time.sleep(parameters.each)
        return Done({"stage": stage}) if stage == parameters.stages else Again(0.0, {"stage": stage})

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        return UndoResult(UndoStatus.UNDONE)


def executor(database_url: str, broker_url: str, log: str, name: str) -> Executor:
    clock = SystemClock()
    actions: ActionRegistry = Registry[Action[Any]]("action")
    actions.add(Ramp.name, Ramp(Path(log)))
    database = Database(database_url, clock)
    sender = carrier.Sender(broker_url)
    return Executor(database, actions, {}, sender, clock, name, lease_seconds=LEASE_SECONDS)


if __name__ == "__main__":
    arguments = sys.argv[1:5]
    sys.exit(run_worker(arguments[1], lambda: executor(*arguments), name=arguments[3], sweep_seconds=0.2))
