"""What a run executes, as it was at its start: steps, proof, and what to do when it fails.

A playbook's plan is its spec; a drill's is compiled by ``chaos``. It is stored with the run
and never changes, so that a run does not depend on what is loaded later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Self

from pydantic import Field, model_validator

from controlplane.model.base import Model
from controlplane.model.graph import check_order, dependencies, ranks
from controlplane.model.playbook import (
    Approval,
    Limits,
    OnFailure,
    Playbook,
    QueryCheck,
    SignalCheck,
    Step,
)


class RunPlan(Model):
    """Steps run in the order of their ``needs``; ``limits`` are judged together with the policy's."""

    steps: tuple[Step, ...] = Field(min_length=1, max_length=200)
    verify: tuple[SignalCheck | QueryCheck, ...] = ()
    on_failure: OnFailure = OnFailure()
    limits: Limits = Limits()
    approval: Approval | None = None

    @model_validator(mode="after")
    def _steps_have_an_order(self) -> Self:
        check_order(self.steps)
        return self

    @classmethod
    def of_playbook(cls, playbook: Playbook) -> RunPlan:
        """Return the plan of a playbook."""
        spec = playbook.spec
        return cls(
            steps=spec.steps,
            verify=spec.verify,
            on_failure=spec.on_failure,
            limits=spec.limits,
            approval=spec.approval,
        )

    def asking(self) -> RunPlan:
        """Return the plan with people asked before it starts, whatever the playbook's own condition."""
        asked = (self.approval or Approval()).model_copy(update={"when": None})
        return self.model_copy(update={"approval": asked})

    @classmethod
    def of_notices(cls, channels: Sequence[str]) -> RunPlan:
        """Return a plan that tells every channel its inputs ``title`` and ``text``; one may not answer."""
        message = {"title": "{{ inputs.title }}", "text": "{{ inputs.text }}", "severity": "warning"}
        steps = [
            Step.model_validate(
                {
                    "id": f"tell-{number}",
                    "uses": "notify.send",
                    "with": {"channel": name, **message},
                    "needs": [],
                    "retry": {"limit": 5},
                    "continueOnError": True,
                }
            )
            for number, name in enumerate(channels, start=1)
        ]
        return cls(steps=tuple(steps))

    def step(self, step_id: str) -> Step:
        """Return the step that a record's id is of: ``scale[2]`` is the third item of ``scale``."""
        return self._by_id[step_id.partition("[")[0]]

    @cached_property
    def _by_id(self) -> dict[str, Step]:
        return {step.id: step for step in self.steps}

    @cached_property
    def loops(self) -> frozenset[str]:
        """The steps that are done once for each item."""
        return frozenset(step.id for step in self.steps if step.for_each is not None)

    @cached_property
    def needs(self) -> Mapping[str, tuple[str, ...]]:
        """What each step needs, by id."""
        return dependencies(self.steps)

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The place of each step in an order that its needs allow."""
        return ranks(self.steps)

    @classmethod
    def read(cls, text: str) -> RunPlan:
        """Return the plan that a run was stored with; the same text is parsed once in a process."""
        return _parsed(text)

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)


@lru_cache(maxsize=256)
def _parsed(text: str) -> RunPlan:
    return RunPlan.model_validate_json(text)
