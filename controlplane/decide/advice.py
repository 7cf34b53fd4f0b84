"""Advice: the levers of each indicator that is off its target, and what the service's metrics say of each.

An SLO decides what is off; where there is none, the bound that the field has. A rule whose value nobody
knows is unknown: it speaks neither for nor against. It compares, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from controlplane.decide.levers import Aim, Bound, Condition, Evidence, Lever, Limit, book
from controlplane.model.advice import (
    Advice,
    Holds,
    IndicatorAdvice,
    IndicatorsSnapshot,
    LeverAdvice,
    Said,
)
from controlplane.model.objectives import ObjectiveStatus
from controlplane.model.service import Service
from controlplane.observe.library import INDICATORS

_ORDER = ("for", "mixed", "open", "unknown", "against")
_FIRST = ("off", "unknown", "unbound", "on")


@dataclass(frozen=True, slots=True)
class Evident:
    """All that advice rests on. ``loaded``: the names of the playbooks in force."""

    service: Service
    snapshot: IndicatorsSnapshot | None
    objectives: Sequence[ObjectiveStatus] = ()
    loaded: Collection[str] = field(default_factory=frozenset)

    @property
    def values(self) -> Mapping[str, float | None]:
        return self.snapshot.values if self.snapshot is not None else {}


def advise(evident: Evident) -> Advice:
    """Return the advice: indicators that are off first, each with its levers."""
    found = [_indicator(aim, evident) for aim in book().indicators]
    order = sorted(found, key=lambda each: _FIRST.index(each.status))
    at = evident.snapshot.evaluated_at if evident.snapshot is not None else None
    return Advice(service=evident.service.name, evaluated_at=at, indicators=tuple(order))


def _indicator(aim: Aim, evident: Evident) -> IndicatorAdvice:
    status, target = _standing(aim, evident)
    levers = [_lever(lever, evident) for lever in book().of(aim.name)]
    return IndicatorAdvice.model_validate(
        {
            "name": aim.name,
            "unit": INDICATORS[aim.value].unit,
            "status": status,
            "value": evident.values.get(aim.value),
            "target": target,
            "levers": tuple(sorted(levers, key=lambda each: _ORDER.index(each.verdict))),
        }
    )


def _standing(aim: Aim, evident: Evident) -> tuple[str, str]:
    """Tell whether an indicator is off, and against what: its SLOs, else the field's bound."""
    mine = [each for each in evident.objectives if each.indicator == aim.name]
    if mine:
        bad = [each for each in mine if each.state == "bad"]
        known = [each for each in mine if each.state != "unknown"]
        names = ", ".join(each.name for each in bad or mine)
        return "off" if bad else "on" if known else "unknown", f"SLO {names}"
    if aim.no_bound:
        return "unbound", aim.no_bound
    beyond = _beyond(aim, evident)
    return {"yes": "off", "no": "on", "unknown": "unknown"}[beyond], f"off when {_words(aim)}"


def _lever(lever: Lever, evident: Evident) -> LeverAdvice:
    said = tuple(_said(each, evident) for each in lever.evidence)
    found = [book().sources[name] for name in lever.sources]
    return LeverAdvice.model_validate(
        {
            "name": lever.name,
            "title": lever.title,
            "does": lever.does,
            "verdict": _verdict(said),
            "said": said,
            "playbook": lever.playbook,
            "loaded": lever.playbook in evident.loaded,
            "by_hand": lever.by_hand,
            "sources": tuple(f"{each.title}, {each.at}" for each in found),
        }
    )


def _verdict(said: Sequence[Said]) -> str:
    """Sum up: what holds decides; where nothing does, whether it could have been known."""
    holding = {each.says for each in said if each.holds == "yes"}
    if len(holding) > 1:
        return "mixed"
    if holding:
        return holding.pop()
    return "unknown" if any(each.holds == "unknown" for each in said) else "open"


def _said(evidence: Evidence, evident: Evident) -> Said:
    holds = [_beyond(condition, evident) for condition in evidence.all]
    whole: Holds = "no" if "no" in holds else "unknown" if "unknown" in holds else "yes"
    return Said(
        says=evidence.says,
        holds=whole,
        why=evidence.why,
        measured={condition.value: evident.values.get(condition.value) for condition in evidence.all},
        rule=" and ".join(_words(condition) for condition in evidence.all),
    )


def _beyond(bound: Bound, evident: Evident) -> Holds:
    value = evident.values.get(bound.value)
    if value is None:
        return "unknown"
    over = bound.above is not None and value > _limit(bound.above, evident.service)
    under = bound.below is not None and value < _limit(bound.below, evident.service)
    return "yes" if over or under else "no"


def _limit(limit: Limit, service: Service) -> float:
    match limit:
        case "effective.ttft":
            return service.spec.effective.ttft
        case "effective.tpot":
            return service.spec.effective.tpot
        case _:
            return float(limit)


def _words(bound: Aim | Condition) -> str:
    limit, how = (bound.above, "above") if bound.above is not None else (bound.below, "below")
    return f"{bound.value} is {how} {limit if isinstance(limit, str) else f'{limit:g}'}"
