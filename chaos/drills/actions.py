"""The steps of a drill, and the one that starts one; chaos's entry point in ``fleetward.actions``."""

from __future__ import annotations

from chaos.drills.conclude import Report
from chaos.drills.exercise import StartExercise
from chaos.drills.injection import InjectFault, RevertFaults
from chaos.drills.observation import AwaitRestored, Judge, Observe
from chaos.drills.preconditions import CheckPreconditions
from chaos.drills.starting import StartDrill
from controlplane.model.action import ActionRegistry


def register(registry: ActionRegistry) -> None:
    """Add the steps of drills, and `drill.start`."""
    steps = (
        CheckPreconditions(),
        InjectFault(),
        StartExercise(),
        Observe(),
        Judge(),
        RevertFaults(),
        AwaitRestored(),
        Report(),
        StartDrill(),
    )
    for step in steps:
        registry.add(step.name, step)
