"""What is wrong with documents that are each well-formed: references, and playbooks that work against others.

Each finding has a stable code (`CHECKS`). Errors are certain. Warnings rest on what a step
says in plain values (``weight: 0``), so that they are never false alarms on what templates
decide; what they miss, the guards refuse when it happens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from controlplane.actions.names import used_inputs
from controlplane.kernel.errors import Problem
from controlplane.kernel.registry import did_you_mean
from controlplane.kernel.templating import templates_in
from controlplane.kernel.yaml import Document, Path
from controlplane.model.action import ActionRegistry
from controlplane.model.slo import Slo

CHECKS: Mapping[str, tuple[Literal["error", "warning"], str]] = {
    "undo-impossible": ("error", "`undo: true` is written on a step whose action cannot be taken back"),
    "unknown-zone": ("error", "a zone that no Service loaded together with the file has"),
    "unknown-channel": ("error", "a channel that the Policy loaded together with the file does not have"),
    "unreachable-tier": (
        "error",
        "a trigger waits for tiers of which the SLO has none; what its target makes unreachable is none",
    ),
    "escalation-cycle": ("error", "playbooks escalate in a circle, or one to itself"),
    "triggers-itself": (
        "warning",
        "a playbook that starts on mitigated or resolved takes its target out again (drain, weight 0)",
    ),
    "conflicting-playbooks": (
        "warning",
        "two playbooks of one trigger, one takes the target out, the other gives it back, in no common group",
    ),
    "unused-input": ("warning", "an input that no expression of the playbook reads"),
}
"""Every check by its code: how serious, and what it finds."""

_TAKES = frozenset({"replica.isolate", "replica.drain", "node.cordon", "node.drain"})
_GIVES = frozenset({"traffic.restore", "replica.restore", "node.uncordon", "node.restore"})
_ZONES = ("zone", "without")

Findings = Iterator[Problem]


def check_together(documents: list[Document], actions: ActionRegistry) -> list[Problem]:
    """Return what is wrong with well-formed documents, alone and with one another."""
    whole = [
        each for each in documents if isinstance(each.data, dict) and isinstance(each.data.get("spec"), dict)
    ]
    of = {
        kind: [each for each in whole if each.data.get("kind") == kind]
        for kind in ("Playbook", "Service", "SLO", "Policy")
    }
    found: list[Problem] = []
    for document in of["Playbook"]:
        found += _undo(document, actions)
        found += _zones(document, of["Service"])
        found += _channels(document, of["Policy"])
        found += _tiers(document, of["SLO"])
        found += _itself(document)
        found += _inputs(document)
    found += _circles(of["Playbook"])
    found += _conflicts(of["Playbook"])
    return found


def _finding(
    document: Document, path: Path, code: str, message: str, suggestion: str | None = None
) -> Problem:
    problem = document.problem(path, message, suggestion)
    return replace(problem, code=code, severity=CHECKS[code][0])


def _undo(document: Document, actions: ActionRegistry) -> Findings:
    for index, step in _steps(document):
        uses = step.get("uses")
        if step.get("undo") is True and uses in actions and not actions.get(str(uses)).reversible:
            message = f"`{uses}` cannot be taken back"
            yield _finding(
                document, ("spec", "steps", index, "undo"), "undo-impossible", message, "leave `undo` out"
            )


def _zones(document: Document, services: list[Document]) -> Findings:
    known = {str(zone.get("name")) for each in services for _, zone in _dicts(each.data["spec"].get("zones"))}
    for index, step in _steps(document) if known else ():
        given = _given(step)
        for name in _ZONES:
            zone = given.get(name)
            if isinstance(zone, str) and not templates_in(zone) and zone not in known:
                message = f"no service has a zone `{zone}`"
                path: Path = ("spec", "steps", index, "with", name)
                yield _finding(document, path, "unknown-zone", message, did_you_mean(zone, sorted(known)))


def _channels(document: Document, policies: list[Document]) -> Findings:
    if not policies:
        return
    channels = [channel for each in policies for _, channel in _dicts(each.data["spec"].get("channels"))]
    known = sorted(str(channel.get("name")) for channel in channels)
    places: list[tuple[Path, Any]] = [
        (("spec", "onFailure", "escalate", index, "notify"), rung.get("notify"))
        for index, rung in _rungs(document)
    ]
    for index, step in _steps(document):
        if step.get("uses") == "notify.send":
            places.append((("spec", "steps", index, "with", "channel"), _given(step).get("channel")))
    for path, name in places:
        if isinstance(name, str) and not templates_in(name) and name not in known:
            message = f"the policy has no channel `{name}`"
            yield _finding(document, path, "unknown-channel", message, did_you_mean(name, known))


def _tiers(document: Document, slos: list[Document]) -> Findings:
    by_name = {_name(each): each for each in slos}
    for index, trigger in _dicts(document.data["spec"].get("triggers")):
        slo = by_name.get(str(trigger.get("slo")))
        tiers = trigger.get("tiers", ["fast", "page"])
        if slo is None or trigger.get("type") != "slo" or not isinstance(tiers, list):
            continue
        try:
            spec = Slo.model_validate(slo.data).spec
        except ValueError:
            continue
        known = [tier.name for tier in spec.burn_tiers] + (["fast"] if spec.fast else [])
        if not set(map(str, tiers)) & set(known):
            message = f"SLO `{_name(slo)}` has none of these tiers: the trigger could never fire"
            path: Path = ("spec", "triggers", index, "tiers" if "tiers" in trigger else "slo")
            yield _finding(document, path, "unreachable-tier", message, f"valid: {', '.join(sorted(known))}")


def _itself(document: Document) -> Findings:
    triggers = [trigger for _, trigger in _dicts(document.data["spec"].get("triggers"))]
    states = [
        t["state"]
        for t in triggers
        if t.get("type") == "incident" and t.get("state") in {"mitigated", "resolved"}
    ]
    if not states:
        return
    for index, step in _steps(document):
        if _takes(step) and "incident." in str(step.get("with")):
            message = f"it starts on {states[0]}, and `{step.get('uses')}` takes the target out again"
            hint = "give back what was taken (traffic.restore), or start from what goes wrong"
            yield _finding(document, ("spec", "steps", index, "uses"), "triggers-itself", message, hint)


def _inputs(document: Document) -> Findings:
    spec = document.data["spec"]
    declared = spec.get("inputs")
    if isinstance(declared, dict):
        used = used_inputs({key: value for key, value in spec.items() if key != "inputs"})
        for name in declared if "*" not in used else ():
            if name not in used:
                message = f"nothing reads the input `{name}`"
                problem = document.problem(
                    ("spec", "inputs", name), message, f"write `inputs.{name}`", key=True
                )
                yield replace(problem, code="unused-input", severity="warning")


def _circles(playbooks: list[Document]) -> Findings:
    targets = {
        _name(each): [(index, str(rung["playbook"])) for index, rung in _rungs(each) if "playbook" in rung]
        for each in playbooks
    }
    for document in playbooks:
        start = _name(document)
        for index, first in targets[start]:
            way = _way(first, start, {name: [to for _, to in rungs] for name, rungs in targets.items()})
            if way:
                message = f"playbooks escalate in a circle: {' → '.join([start, *way])}"
                path: Path = ("spec", "onFailure", "escalate", index, "playbook")
                yield _finding(
                    document, path, "escalation-cycle", message, "let the ladder end with `notify`"
                )


def _way(start: str, end: str, targets: Mapping[str, list[str]]) -> list[str]:
    """Return the names from ``start`` to ``end``; empty if none leads there."""
    waiting, seen = [[start]], {start}
    while waiting:
        way = waiting.pop(0)
        if way[-1] == end:
            return way
        for name in targets.get(way[-1], []):
            if name not in seen:
                seen.add(name)
                waiting.append([*way, name])
    return []


def _conflicts(playbooks: list[Document]) -> Findings:
    for number, later in enumerate(playbooks):
        for earlier in playbooks[:number]:
            index = _common_trigger(earlier, later)
            apart = _group(earlier) is not None and _group(earlier) == _group(later)
            if index is None or apart:
                continue
            one, other = _direction(earlier), _direction(later)
            if one and other and one != other:
                message = f"it and `{_name(earlier)}` have this trigger in common and act against each other"
                hint = "give both the same concurrency group, or one of them another trigger"
                yield _finding(later, ("spec", "triggers", index), "conflicting-playbooks", message, hint)


def _common_trigger(one: Document, other: Document) -> int | None:
    """Return the place in ``other`` of a trigger that both have."""
    mine = [_scope(trigger) for _, trigger in _dicts(one.data["spec"].get("triggers"))]
    for index, trigger in _dicts(other.data["spec"].get("triggers")):
        if _scope(trigger) in mine and trigger.get("type") != "manual":
            return index
    return None


def _scope(trigger: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return what a trigger is about, without how soon it fires."""
    soon = {"tiers", "for", "targetHealthyFor"}
    return tuple(sorted((name, str(value)) for name, value in trigger.items() if name not in soon))


def _direction(document: Document) -> str | None:
    steps = [step for _, step in _steps(document)]
    takes, gives = any(map(_takes, steps)), any(map(_gives, steps))
    return None if takes == gives else "takes" if takes else "gives"


def _takes(step: Mapping[str, Any]) -> bool:
    return step.get("uses") in _TAKES or (step.get("uses") == "traffic.shift" and _weight(step) == 0)


def _gives(step: Mapping[str, Any]) -> bool:
    return step.get("uses") in _GIVES or (step.get("uses") == "traffic.shift" and (_weight(step) or 0) > 0)


def _weight(step: Mapping[str, Any]) -> int | None:
    weight = _given(step).get("weight")
    return weight if isinstance(weight, int) and not isinstance(weight, bool) else None


def _given(step: Mapping[str, Any]) -> Mapping[str, Any]:
    given = step.get("with")
    return given if isinstance(given, dict) else {}


def _group(document: Document) -> Any:
    concurrency = document.data["spec"].get("concurrency")
    return concurrency.get("group") if isinstance(concurrency, dict) else None


def _name(document: Document) -> str:
    metadata = document.data.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, dict) else ""


def _steps(document: Document) -> list[tuple[int, dict[str, Any]]]:
    return _dicts(document.data["spec"].get("steps"))


def _rungs(document: Document) -> list[tuple[int, dict[str, Any]]]:
    on_failure = document.data["spec"].get("onFailure")
    return _dicts(on_failure.get("escalate")) if isinstance(on_failure, dict) else []


def _dicts(value: Any) -> list[tuple[int, dict[str, Any]]]:
    if not isinstance(value, list):
        return []
    return [(index, item) for index, item in enumerate(value) if isinstance(item, dict)]
