"""From files to kinds: every mistake of every file at once, with its position and what is valid.

Loading is two passes: the shape of each document, then what needs a catalogue (actions,
faults) or the other documents (service, SLO, playbook by name). It reads text that it is
given; who reads files is `fleetward validate` and the start-up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from controlplane.kernel.errors import FleetwardError, InvalidDocuments, Problem
from controlplane.kernel.registry import did_you_mean
from controlplane.kernel.yaml import Document, Path, load_documents
from controlplane.model.drill import Drill
from controlplane.model.kind import API_VERSION, Kind
from controlplane.model.playbook import Playbook
from controlplane.model.policy import Policy
from controlplane.model.rehearsal import PlaybookTest
from controlplane.model.service import Service
from controlplane.model.slo import Slo

_TAG_KEY = "type"
"""The key that tells the members of every union of the kinds apart."""

KINDS: dict[str, type[Kind]] = {
    kind.KIND: kind for kind in (Service, Slo, Playbook, Policy, Drill, PlaybookTest)
}


@dataclass(slots=True)
class Loaded:
    """One valid document: the model, the YAML it came from, and its identity."""

    model: Kind
    document: Document

    @property
    def sha256(self) -> str:
        """The content's hash: what runs pin. The same content has the same hash in any file."""
        return revision_hash(self.model)


def revision_hash(model: Kind) -> str:
    """Return the hash of a document's meaning (defaults included, order of keys not)."""
    body = json.dumps(model.model_dump(mode="json", by_alias=True), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(body.encode()).hexdigest()


@dataclass(slots=True)
class Bundle:
    """All documents that belong together, by kind and name."""

    loaded: list[Loaded] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    """Every document that is YAML, also those whose shape is wrong: later passes report on them too."""
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    """What loads, and is probably not meant."""

    @property
    def findings(self) -> list[Problem]:
        """Problems and warnings, in the order of the files."""
        return sorted([*self.problems, *self.warnings], key=lambda p: (p.file, p.line, p.column))

    def of(self, kind: str) -> dict[str, Kind]:
        return {entry.model.name: entry.model for entry in self.loaded if entry.model.kind == kind}

    def raise_problems(self) -> Bundle:
        """Return the bundle, or raise `InvalidDocuments` with every problem."""
        if self.problems:
            raise InvalidDocuments(sorted(self.problems, key=lambda p: (p.file, p.line, p.column)))
        return self


def load_bundle(files: Iterable[tuple[str, str]]) -> Bundle:
    """Load (name, text) pairs; problems are collected, never raised."""
    bundle = Bundle()
    seen: dict[tuple[str, str], Document] = {}
    for file, text in files:
        for document in load_documents(text, file):
            bundle.problems += document.problems
            if document.data is None:
                continue
            bundle.documents.append(document)
            model, problems = _shape(document)
            bundle.problems += problems
            if model is None:
                continue
            key = (model.kind, model.name)
            if key in seen:
                first = seen[key]
                message = f"{model.kind} `{model.name}` is defined twice"
                where = f"the other one is in {first.file}:{first.line}"
                bundle.problems.append(document.problem(("metadata", "name"), message, where))
                continue
            seen[key] = document
            bundle.loaded.append(Loaded(model, document))
    return bundle


def _shape(document: Document) -> tuple[Kind | None, list[Problem]]:
    data = document.data
    if not isinstance(data, dict):
        return None, [
            document.problem((), "a document must be a mapping with apiVersion, kind, metadata and spec")
        ]
    kind = data.get("kind")
    if kind not in KINDS:
        message = f"unknown kind `{kind}`" if kind is not None else "`kind` is missing"
        return None, [document.problem(("kind",), message, did_you_mean(str(kind), list(KINDS)))]
    if data.get("apiVersion") != API_VERSION:
        problem = document.problem(("apiVersion",), f"apiVersion must be {API_VERSION}")
        return None, [problem]
    try:
        return KINDS[kind].model_validate(data), []
    except ValidationError as error:
        return None, list(_explain(document, error, KINDS[kind]))


def _explain(document: Document, error: ValidationError, kind: type[Kind]) -> Iterator[Problem]:
    details = error.errors(include_url=False)
    locs = [detail["loc"] for detail in details]
    for detail in details:
        loc = detail["loc"]
        if detail["type"] == "too_short" and any(other[: len(loc)] == loc and other != loc for other in locs):
            continue  # The items are there, and wrong: that is reported.
        path = _yaml_path(document, loc)
        match detail["type"]:
            case "extra_forbidden":
                name = str(path[-1])
                siblings = _known_keys(kind, document, path[:-1])
                suggestion = did_you_mean(name, siblings)
                yield document.problem(path, f"unknown key `{name}`", suggestion, key=True)
            case "missing":
                yield document.problem(path[:-1], f"`{path[-1]}` is missing")
            case "union_tag_invalid":
                context = detail.get("ctx", {})
                expected = [tag.strip(" '") for tag in str(context.get("expected_tags", "")).split(",")]
                tag = str(context.get("tag"))
                where = (*path, str(context.get("discriminator", "type")).strip("'"))
                yield document.problem(where, f"unknown type `{tag}`", did_you_mean(tag, expected))
            case _:
                cause = getattr(detail.get("ctx", {}).get("error"), "__cause__", None)
                hint = cause.hint if isinstance(cause, FleetwardError) else None
                yield document.problem(path, detail["msg"].removeprefix("Value error, "), hint)


def _yaml_path(document: Document, loc: tuple[int | str, ...]) -> Path:
    """Drop the parts of Pydantic's location that are no keys: tags of unions, names of models."""
    path: Path = ()
    value: Any = document.data
    for index, part in enumerate(loc):
        if isinstance(value, dict) and index + 1 < len(loc) and value.get(_TAG_KEY) == part:
            continue  # The tag of a union; a key of the same name would come after it.
        holds = (
            part in value if isinstance(value, dict) else isinstance(value, list) and isinstance(part, int)
        )
        if holds:
            path, value = (*path, part), value[part]
        elif index == len(loc) - 1 and isinstance(value, dict):
            path = (*path, part)
    return path


def _known_keys(kind: type[Kind], document: Document, path: Path) -> list[str]:
    """List the keys that are valid at ``path``, by asking the JSON Schema."""
    schema = kind.model_json_schema(by_alias=True)
    options = [schema]
    value: Any = document.data
    for part in path:
        value = value[part]
        options = [child for option in options for child in _children(_resolve(schema, option), part)]
        options = [final for option in options for final in _branches(schema, option, value)]
    return sorted({name for option in options for name in _resolve(schema, option).get("properties", {})})


def _resolve(schema: dict[str, Any], option: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in option:
        option = schema["$defs"][option["$ref"].rsplit("/", 1)[1]]
    return option


def _children(option: dict[str, Any], part: str | int) -> list[dict[str, Any]]:
    if isinstance(part, int):
        found = option.get("items")
    else:
        found = option.get("properties", {}).get(part) or option.get("additionalProperties")
    return [found] if isinstance(found, dict) else []


def _branches(schema: dict[str, Any], option: dict[str, Any], value: Any) -> list[dict[str, Any]]:
    option = _resolve(schema, option)
    choices = [_resolve(schema, choice) for choice in option.get("oneOf", option.get("anyOf", []))]
    if not choices:
        return [option]
    tag = option.get("discriminator", {}).get("propertyName")
    if tag and isinstance(value, dict):
        chosen = [c for c in choices if c.get("properties", {}).get(tag, {}).get("const") == value.get(tag)]
        return chosen or choices
    return choices
