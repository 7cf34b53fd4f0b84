"""Prometheus' rule files: rules made from objectives become SLOs again, other alerts become triggers.

Objectives are known by the series that Sloth and Fleetward record. An alert of any other kind becomes a
playbook that watches it and tells people: what should be done about it, no rule file says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from controlplane.observe.importers.promql_text import divided, of_counter
from controlplane.observe.importers.reading import (
    Made,
    Reader,
    Unmapped,
    our_document,
    percent,
    slugged,
)

_SHARE = "slo:sli_error:ratio_rate5m"
_OURS = re.compile(r"^(slo:|sloth_slo_info$)")
_IDS = ("sloth_id", "sloth_service", "sloth_slo")
_VECTOR = re.compile(r"vector\(([0-9.eE+-]+)\)")


@dataclass(slots=True)
class _Known:
    """One objective, as found in several groups."""

    share: tuple[str, Reader] | None = None
    target: float | None = None
    days: float = 30.0
    labels: dict[str, str] = field(default_factory=dict)
    levels: int = 0
    counted: bool = False
    alerts: dict[str, Made] = field(default_factory=dict)


def read_rules(top: Reader) -> Iterator[Made]:
    """Yield what one rule file holds."""
    if "kind" in top:  # the operator's PrometheusRule
        for key in ("apiVersion", "kind", "metadata"):
            top.take(key)
        top = top.inside("spec")
    objectives: dict[str, _Known] = {}
    others = [rule for rule in _each(top) if not _is_known(rule, objectives)]
    for known in objectives.values():
        yield from top.notes.attempt(partial(_slo, known, top))
    names: set[str] = set()
    for rule in others:
        yield from _playbook(rule, names)


def _each(top: Reader) -> Iterator[Reader]:
    for group in top.each("groups"):
        for key in ("name", "interval", "limit"):
            group.take(key)
        yield from group.each("rules")


def _is_known(rule: Reader, objectives: dict[str, _Known]) -> bool:
    """Sort a rule in; tell whether that was all there is to say of it."""
    name, labels = str(rule.take("record", "")), rule.texts("labels")
    rule.take("expr")
    if _OURS.match(name) and set(_IDS) <= labels.keys():
        _note(objectives.setdefault(labels["sloth_id"], _Known()), name, labels, rule)
    elif name:
        rule.lose(f"`{name}` is a recording rule, and no objective")
    elif "sloth_severity" in labels:
        _alert(objectives, rule, labels)
    else:
        return False
    return True


def _note(known: _Known, name: str, labels: Mapping[str, str], rule: Reader) -> None:
    expr = str(rule.take("expr"))
    number = _VECTOR.fullmatch(expr.strip())
    if name == _SHARE:
        known.levels += 1
        if known.share is None:
            known.share = (expr, rule)
            known.labels = {key: value for key, value in labels.items() if key != "sloth_window"}
    elif name == "slo:objective:ratio" and number:
        known.target = float(number.group(1))
    elif name == "slo:time_period:days" and number:
        known.days = float(number.group(1))
    elif name.startswith("slo:sli_events:"):
        known.counted = True


def _alert(objectives: Mapping[str, _Known], rule: Reader, labels: dict[str, str]) -> None:
    expr = str(rule.take("expr"))
    severity = labels.pop("sloth_severity")
    found = re.search(r'sloth_id="([^"]+)"', expr)
    known = objectives.get(found.group(1)) if found else None
    if known is not None and severity in {"page", "ticket"}:
        text = {"labels": labels, "annotations": rule.texts("annotations")}
        known.alerts.setdefault("name", rule.take("alert"))
        known.alerts.setdefault(severity, text)


def _slo(known: _Known, top: Reader) -> Made:
    if known.share is None or known.target is None:
        raise Unmapped(
            top.path, "the rules of an objective are not whole: its share or its target is missing"
        )
    expr, rule = known.share
    if known.levels > 1:
        rule.lose("the objective is recorded at several levels: the first is taken", "expr")
    sides = divided(expr)
    indicator: Made
    if sides is None:
        indicator = {"errorRatio": of_counter(expr, (*rule.path, "expr"))}
    else:
        bad, total = (of_counter(side, (*rule.path, "expr")) for side in sides)
        indicator = {"bad": bad, "total": total}
    service, name = known.labels["sloth_service"], known.labels["sloth_slo"]
    spec: Made = {
        "service": slugged(service),
        "indicator": indicator,
        "target": percent(known.target * 100, rule.path),
        "window": {"rolling": f"{known.days:g}d"},
        "by": ["service"],
    }
    if not known.counted:  # Sloth's: the mean of shares, whatever the number of events
        spec |= {"minEvents": 0, "budgeting": {"method": "ratioTimeslices", "slice": "5m"}}
    if known.alerts:
        spec["alerts"] = known.alerts
    labels = {key: value for key, value in known.labels.items() if key not in _IDS}
    return our_document("SLO", f"{service}-{name}", spec, rule, labels=labels)


def _playbook(rule: Reader, names: set[str]) -> Iterator[Made]:
    alert = str(rule.take("alert", ""))
    if not alert:
        rule.lose("a rule neither records nor alerts")
        return
    if alert in names:
        rule.lose(f"another rule is called `{alert}`: one trigger answers both", "alert")
        return
    names.add(alert)
    annotations = rule.texts("annotations")
    for key in ("for", "keep_firing_for"):
        rule.take(key)  # Alertmanager hears of it when it has passed
    quoted = alert.replace("\\", "\\\\").replace('"', '\\"')
    spec: Made = {
        "description": annotations.get("summary") or f"Tell people of the alert {alert}.",
        "mode": "observe",
        "triggers": [{"type": "alert", "match": [f'alertname="{quoted}"']}],
        "steps": [
            {
                "id": "tell",
                "uses": "notify.send",
                "with": {"channel": "oncall", "severity": "warning", "title": "{{ incident.title }}"},
            }
        ],
    }
    yield our_document("Playbook", alert, spec, rule)
    rule.lose(
        "what to do about it is not in the rule: its playbook tells the channel `oncall`, in mode observe"
    )


def is_rules(data: Any) -> bool:
    """Tell whether a document is a rule file."""
    if not isinstance(data, dict):
        return False
    return data.get("kind") == "PrometheusRule" or ("groups" in data and "apiVersion" not in data)
