"""What a step returns. Failures are values at the engine's boundary; nothing is raised through it.

``Again`` gives the worker back: ramps, waits, drains and loops never hold it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class FailureKind(StrEnum):
    """Whether trying again can help, and whether it is safe."""

    TRANSIENT = "transient"
    """Nothing happened; a retry may help."""
    PERMANENT = "permanent"
    """A retry cannot help."""
    AMBIGUOUS = "ambiguous"
    """The effect may have happened: the action's `observe` looks before anything is tried again."""


@dataclass(frozen=True, slots=True)
class Done:
    """The step is finished; ``outputs`` (JSON values) are kept and can be named by later steps."""

    outputs: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Again:
    """Not yet: call again in ``after`` seconds, with ``state`` (JSON values) given back.

    An action that has only looked says with 0 where it goes on from: it is called on at once, and
    the state is written down with its next effect, before that is done.
    """

    after: float
    state: dict[str, Any] = field(default_factory=dict)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The step did not do it; ``message`` says why in one sentence."""

    kind: FailureKind
    message: str
    outputs: dict[str, Any] = field(default_factory=dict)


Outcome = Done | Again | Failed
