"""Triggers on alerts that somebody else's rules raise: Alertmanager's, by its own matchers."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, Self

from pydantic import Field, model_validator

from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.matchers import Matcher, all_match, parse_matchers
from controlplane.model.records import Incident
from controlplane.model.target import Signal
from controlplane.model.triggers.base import Facts, Trigger

ALERT = "alert"
NAME = "alertname"


class AlertTrigger(Trigger):
    """Fires on an alert that Alertmanager sent here, whose labels fulfil all matchers."""

    type: Literal["alert"]
    match: tuple[str, ...] = Field(
        min_length=1,
        description="Alertmanager's matchers: =, !=, =~, !~; all must hold",
        examples=[['alertname="TargetDown"', 'zone=~"zone-a|zone-b"']],
    )

    @model_validator(mode="after")
    def _reads(self) -> Self:
        try:
            _read(self.match)
        except InvalidInput as error:
            raise ValueError(error.message) from error
        return self

    def describe(self) -> str:
        return f"alert:{','.join(self.match)}"

    def answers(self, signal: Signal) -> bool:
        """Judge by the name alone: the other labels are known when it fires."""
        own = [matcher for matcher in _read(self.match) if matcher.name == NAME]
        return signal.kind == ALERT and all_match(own, {NAME: signal.name})

    def matches(self, incident: Incident, facts: Facts) -> bool:
        labels = facts.alerts.get(incident.signal, ())
        return super().matches(incident, facts) and any(all_match(_read(self.match), each) for each in labels)


@lru_cache(maxsize=256)
def _read(texts: tuple[str, ...]) -> tuple[Matcher, ...]:
    return tuple(matcher for text in texts for matcher in parse_matchers(text))
