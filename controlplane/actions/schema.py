"""JSON Schema of every kind, for editors: generated from the models and from the actions that are installed.

An editor that speaks the YAML language server completes and checks with it while one types:
`with` by the action that `uses` names, templates allowed wherever the loader allows them.
It says what a schema can say; what needs the whole (names, references, rules over several
fields) is `fleetward validate`'s.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from typing import Any

from controlplane.actions.check import known_parameters
from controlplane.kernel.durations import format_duration
from controlplane.model.action import Action, ActionRegistry
from controlplane.model.documents import KINDS
from controlplane.model.kind import API_VERSION, Kind

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ALL = "all"
"""The name of the schema that takes a document of any kind."""

Schema = dict[str, Any]

_TEMPLATE: Schema = {"type": "string", "pattern": r"\{\{"}
_DURATION = r"(ms|s|m|h|d|w)"


def schemas(actions: ActionRegistry, faults: Collection[str]) -> dict[str, Schema]:
    """Return every schema by its file's name without the ending: ``playbook``, …, and ``all``."""
    made = {name.lower(): schema_of(kind, actions, faults) for name, kind in KINDS.items()}
    choices = [{"$ref": f"{name}.json"} for name in made]
    whole = {
        "$schema": DIALECT,
        "title": "Fleetward",
        "description": "A document of any kind.",
        "oneOf": choices,
    }
    return {**made, ALL: whole}


def schema_of(kind: type[Kind], actions: ActionRegistry, faults: Collection[str]) -> Schema:
    """Return the schema of one kind."""
    schema = kind.model_json_schema(by_alias=True)
    definitions: dict[str, Schema] = schema.setdefault("$defs", {})
    if "Step" in definitions:
        _by_action(definitions, actions)
    if "FaultSpec" in definitions:
        definitions["FaultSpec"]["properties"]["kind"]["enum"] = sorted(faults)
    schema["required"] = ["apiVersion", "kind", "metadata", "spec"]
    schema["properties"]["apiVersion"] = {"const": API_VERSION}
    schema["properties"]["kind"] = {"const": kind.KIND}
    head = {"$schema": DIALECT, "title": kind.KIND, "description": describe(kind)}
    return {**head, **tidied({name: part for name, part in schema.items() if name not in head})}


def describe(kind: type[Kind]) -> str:
    """Return what a kind is for, in the words of its module."""
    first = (sys.modules[kind.__module__].__doc__ or "").strip().partition("\n")[0]
    return first.partition(": ")[2][:1].upper() + first.partition(": ")[2][1:] or first


def _by_action(definitions: dict[str, Schema], actions: ActionRegistry) -> None:
    """Let a step's ``uses`` be an installed action, and its ``with`` that action's parameters."""
    step = definitions["Step"]
    choices = [{"const": action.name, "description": summary(action)} for action in actions]
    step["properties"]["uses"] = {"description": "the action", "oneOf": choices}
    step["allOf"] = []
    for action in actions:
        name = f"with {action.name}"
        parameters, inner = parameters_of(action)
        definitions |= {name: parameters, **inner}
        needed = {"required": ["with"]} if parameters.get("required") else {}
        then = {"properties": {"with": {"$ref": f"#/$defs/{name}"}}, **needed}
        when = {"properties": {"uses": {"const": action.name}}, "required": ["uses"]}
        step["allOf"].append({"if": when, "then": then})


def summary(action: Action[Any]) -> str:
    """Return the first sentence of an action's documentation."""
    return (type(action).__doc__ or action.name).strip().partition("\n")[0]


def parameters_of(action: Action[Any]) -> tuple[Schema, dict[str, Schema]]:
    """Return the schema of an action's ``with`` and its definitions; a template may stand for any value."""
    schema = action.parameters.model_json_schema(
        by_alias=True, ref_template=f"#/$defs/{action.name} {{model}}"
    )
    inner: dict[str, Schema] = schema.pop("$defs", {})
    schema["description"] = summary(action)
    known = known_parameters(action)
    schema["properties"] = {
        name: schema["properties"][name] for name in known if name in schema["properties"]
    }
    renamed = {f"{action.name} {name}": _with_templates(part) for name, part in inner.items()}
    return _with_templates(schema), renamed


def _with_templates(schema: Schema) -> Schema:
    """Allow a template in place of each value inside ``schema``."""
    changed = dict(schema)
    if isinstance(changed.get("properties"), dict):
        changed["properties"] = {name: _or_template(part) for name, part in changed["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(changed.get(key), dict):
            changed[key] = _or_template(changed[key])
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if key in changed:
            changed[key] = [_with_templates(part) for part in changed[key]]
    return changed


def _or_template(schema: Schema) -> Schema:
    outside: Schema = {key: schema[key] for key in ("description", "default") if key in schema}
    inside = {key: part for key, part in schema.items() if key not in (*outside, "title")}
    return {**outside, "anyOf": [_with_templates(inside), _TEMPLATE]}


def tidied(value: Any, *, names: bool = False) -> Any:
    """Drop generated titles, write durations as YAML does, and let 0 be one.

    ``names``: the keys of this map are names that authors write, not words of JSON Schema.
    """
    if isinstance(value, list):
        return [tidied(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    tidy = {
        key: tidied(part, names=not names and key in {"properties", "$defs"})
        for key, part in value.items()
        if names or key not in {"title", "discriminator"}
    }
    if names:
        return tidy
    if isinstance(tidy.get("description"), str):
        tidy["description"] = re.sub(r"``(.+?)``", r"`\1`", tidy["description"])
    return _ratio(_duration(tidy))


def _ratio(schema: Schema) -> Schema:
    if {"ge", "le"} - schema.keys():
        return schema
    number = {"type": "number", "minimum": schema["ge"], "maximum": schema["le"]}
    percent = {"type": "string", "pattern": r"^\d+(\.\d+)?\s*%$"}
    outside = {key: part for key, part in schema.items() if key not in {"ge", "le", "anyOf"}}
    return {**outside, "anyOf": [number, percent]}


def _duration(schema: Schema) -> Schema:
    options = [schema, *(option for option in schema.get("anyOf", []) if isinstance(option, dict))]
    if not any(_DURATION in str(option.get("pattern", "")) or _is_duration(option) for option in options):
        return schema
    default = schema.get("default")
    if isinstance(default, int | float):
        schema = {**schema, "default": format_duration(default)}
    if "pattern" not in schema:
        return schema
    outside = {key: part for key, part in schema.items() if key not in {"type", "pattern", "examples"}}
    text = {key: schema[key] for key in ("type", "pattern", "examples") if key in schema}
    return {**outside, "anyOf": [text, {"const": 0}]}


def _is_duration(schema: Schema) -> bool:
    return any(_DURATION in str(option.get("pattern", "")) for option in schema.get("anyOf", []))
