"""What each name of the expression language holds, and its meaning: for validation and the documentation.

A test holds these against what a run's scope really has. Objects (`service`, `target`) are
described by their models, so that a new field is known at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel

from controlplane.model.service import Service

INCIDENT: Mapping[str, str] = {
    "target": "what it is about, as service/cluster/zone/node/replica",
    "service": "the service's name",
    "cluster": "the cluster",
    "zone": "the zone, or null when the target is wider",
    "node": "the node, or null",
    "replica": "the replica, or null",
    "gpu": "the GPU, or null",
    "level": "how wide the target is: service, zone, node, replica or gpu",
    "name": "the name of the target's narrowest part",
    "alone": "false while half of its zone has the same trouble, or had it a moment ago",
    "calm": "true when its signal is not bad any more, although the incident is open",
    "id": "the incident's id",
    "signal": "the signal, as kind:name@target",
    "state": "pending, firing, mitigated, resolved or unknown",
    "severity": "page or ticket",
    "tier": "the tier that fired",
    "title": "the incident in one line",
    "value": "the measured value",
    "objective": "what the value should be",
    "xid": "the code of a GPU's error, or null",
    "rung": "where the ladder for GPU errors stands: what is to be done now, or null",
    "fault": "what NVIDIA calls the GPU's error, or null",
}
"""Of a run that a person started on a target only the first eleven are there; it is alone and calm."""

RUN: Mapping[str, str] = {
    "id": "the run's id",
    "name": "the playbook's or the drill's name",
    "kind": "playbook or drill",
    "target": "what the run is about, or null",
}

LIMITS: Mapping[str, str] = {
    "healthyAfter": "the share of replicas that would stay healthy, 0..1",
    "healthyReplicasAfter": "how many replicas would stay healthy",
    "replicas": "how many replicas there are",
    "zones": "how many zones there are",
    "zonesAfter": "how many zones would be out",
}

STEP: Mapping[str, str] = {
    "outputs": "what the step has found: its action's outputs and its own",
    "state": "the step's state",
}

LOOP_OUTPUTS: Mapping[str, str] = {
    "each": "a list in the items' order, with `item`, `state`, `outputs` and `error` of each",
    "succeeded": "how many items succeeded",
    "failed": "how many items failed",
}
"""The outputs of a step with ``forEach``."""

NAMES: Mapping[str, str] = {
    "incident": "what started the run, or the target that a person named",
    "service": "the Service document, by its fields",
    "inputs": "the playbook's inputs, by name",
    "limits": "what the blast radius would be once the playbook has acted",
    "now": "the present time, with its date and time of day",
    "steps": "the steps before this one, by id",
    "run": "the run itself",
}


def shape_of(model: type) -> Mapping[str, Any]:
    """Return what can be read of an object: names in YAML and in code, with the shape of what they hold."""
    found: dict[str, Any] = {}
    for base in model.__mro__:
        if not base.__module__.startswith(("builtins", "pydantic")):
            for name, value in vars(base).items():
                if isinstance(value, property) and not name.startswith("_"):
                    found[name] = _inside(get_type_hints(value.fget).get("return"))
    if is_dataclass(model):
        found |= {field.name: None for field in fields(model)}
    if issubclass(model, BaseModel):
        for name, info in model.model_fields.items():
            found |= dict.fromkeys((name, info.alias or name), _inside(info.annotation))
    return found


def _inside(annotation: Any) -> Any:
    """Return the shape of an annotation's object, None for what is not one object."""
    options = [option for option in get_args(annotation) or (annotation,) if option is not type(None)]
    if len(options) != 1 or not isinstance(options[0], type):
        return None
    found = options[0]
    return shape_of(found) if issubclass(found, BaseModel) or is_dataclass(found) else None


def trigger_names(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a playbook's own conditions may name; ``inputs`` are those that it declares."""
    return {
        "incident": dict.fromkeys(INCIDENT),
        "service": shape_of(Service),
        "inputs": dict.fromkeys(inputs),
        "limits": dict.fromkeys(LIMITS),
        "now": None,
    }
