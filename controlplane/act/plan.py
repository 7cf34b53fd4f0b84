"""What a run executes, as it was at its start: steps, proof, and what to do when it fails.

A playbook's plan is its spec; a drill's is compiled by ``chaos``. It is stored with the run
and never changes, so that a run does not depend on what is loaded later.
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from controlplane.model.base import Model
from controlplane.model.playbook import Limits, OnFailure, Playbook, QueryCheck, SignalCheck, Step


class RunPlan(Model):
    """Steps run in their order; ``limits`` are judged together with the policy's."""

    steps: tuple[Step, ...] = Field(min_length=1, max_length=200)
    verify: tuple[SignalCheck | QueryCheck, ...] = ()
    on_failure: OnFailure = OnFailure()
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _step_ids_are_unique(self) -> Self:
        ids = [step.id for step in self.steps]
        if len(ids) != len(set(ids)):
            msg = "two steps have the same id"
            raise ValueError(msg)
        return self

    @classmethod
    def of_playbook(cls, playbook: Playbook) -> RunPlan:
        spec = playbook.spec
        return cls(steps=spec.steps, verify=spec.verify, on_failure=spec.on_failure, limits=spec.limits)

    def step(self, step_id: str) -> Step:
        return next(step for step in self.steps if step.id == step_id)

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)
