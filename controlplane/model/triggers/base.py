"""The contract of a trigger type: its shape in YAML, what it measures, and which incidents it calls for.

A type is one class in one file: the model is what an author writes, its docstring is the
documentation, `verdicts` what it adds to the signals of a tick, `matches` when an incident
calls for the playbook. Types are asked at every tick and keep nothing themselves, so that
nothing is lost with a restart and nothing is replayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, ClassVar, Protocol, get_args

from pydantic import Field

from controlplane.model.base import Level, Model
from controlplane.model.records import Incident
from controlplane.model.service import Service
from controlplane.model.signals import CanaryState, Verdict
from controlplane.model.states import IncidentState
from controlplane.model.target import Signal, Target

IndicatorName = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$", description="an indicator of the library, such as kv_use")
]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a trigger may look at, beside the incident: tiers that fire now, canaries, by text form.

    ``alerts``: for each signal of kind ``alert`` the labels of the alerts that stand behind it.
    """

    tiers: Mapping[str, tuple[str, ...]]
    canaries: Mapping[str, CanaryState]
    alerts: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Due:
    """A time that has come. ``late``: seconds since then; ``lapsed``: too late to be done any more."""

    at: datetime
    late: float
    lapsed: bool


class Look(Protocol):
    """What was seen of one service at one tick, as trigger types may ask for it.

    ``at`` is the time that the samples were read for; ``targets`` the service and all its parts.
    """

    @property
    def at(self) -> datetime: ...

    @property
    def targets(self) -> Sequence[Target]: ...

    @property
    def sources(self) -> Mapping[str, str]:
        """Return what decisions rest on, each fresh, stale or lost."""
        ...

    def budget(self, slo: str, target: Target) -> float | None:
        """Return the share of an SLO's error budget that is left at a target, under 0 when it is overspent.

        None when nobody can tell: nothing was counted, or it is not kept for such a target.
        """
        ...

    def value(self, indicator: str, target: Target) -> float | None:
        """Return an indicator's value at a target, None when nobody can tell."""
        ...

    def since(self, indicator: str) -> datetime:
        """Return when the samples that `value` rests on begin."""
        ...

    def is_blind(self, indicator: str, level: Level) -> bool:
        """Tell whether nothing fresh speaks for an indicator at targets of a level."""
        ...

    def accusers(self, indicator: str, target: Target) -> frozenset[str]:
        """Return the sources that call the target bad by this indicator."""
        ...


class Trigger(Model):
    """Base of all trigger types. A subclass gives ``type`` one literal, its name in YAML."""

    references: ClassVar[Mapping[str, str]] = {}
    """Fields that name another document, and its kind: checked when files are loaded together."""

    timed: ClassVar[bool] = False
    """Whether the clock calls for the playbook, beside or instead of incidents: `places`, `due`."""

    type: str

    @classmethod
    def name_of_type(cls) -> str:
        """Return the one value that ``type`` can have."""
        names = get_args(cls.model_fields["type"].annotation)
        if len(names) != 1 or not isinstance(names[0], str):
            msg = f"{cls.__name__}.type must be a Literal of one name"
            raise TypeError(msg)
        return names[0]

    def describe(self) -> str:
        """Return the trigger in one line, as decisions and runs call it: ``slo:chat-itl by zone``."""
        return self.type

    def answers(self, signal: Signal) -> bool:
        """Tell whether the trigger is about a signal: whether its incident would call, once it is firing."""
        del signal
        return False

    @property
    def mends(self) -> bool:
        """Whether it calls also where clients are kept away from the target: that cures nothing of it."""
        return False

    def matches(self, incident: Incident, facts: Facts) -> bool:
        """Tell whether the incident calls for the playbook now."""
        del facts
        still = incident.state is IncidentState.MITIGATED and incident.calm_since is None
        calls = incident.state is IncidentState.FIRING or (self.mends and still)
        return calls and self.answers(Signal.parse(incident.signal))

    def verdicts(self, look: Look) -> Iterable[Verdict]:
        """Measure what nobody else does, at every target that it concerns."""
        del look
        return ()

    def places(self, service: Service) -> Sequence[Target]:
        """Return the targets that a timed trigger starts the playbook for, a run each."""
        del service
        return ()

    def due(self, now: datetime, decided: datetime) -> Due | None:
        """Return the latest time that has come since the one that was decided on last."""
        del now, decided
        return None
