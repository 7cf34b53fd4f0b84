"""The steps of a drill, for the registry of actions; chaos's entry point in ``fleetward.actions``."""

from __future__ import annotations

from chaos.drills.conclude import Report
from chaos.drills.exercise import StartExercise
from chaos.drills.injection import InjectFault, RevertFaults
from chaos.drills.observation import AwaitRestored, Judge, Observe
from chaos.drills.preconditions import CheckPreconditions
from controlplane.model.action import ActionRegistry


def register(registry: ActionRegistry) -> None:
    """Add the steps of drills."""
    steps = (
        CheckPreconditions(),
        InjectFault(),
        StartExercise(),
        Observe(),
        Judge(),
        RevertFaults(),
        AwaitRestored(),
        Report(),
    )
    for step in steps:
        registry.add(step.name, step)
