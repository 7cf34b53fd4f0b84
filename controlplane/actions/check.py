"""Checks a step's `with` against its action before anything runs, as far as it can be known.

What holds a template gets its value when the step runs: here only the template itself is
checked, and the literal parameters around it. The rest is checked again, in full, at the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from controlplane.kernel.errors import FleetwardError, InvalidInput
from controlplane.kernel.registry import did_you_mean
from controlplane.kernel.templating import Vocabulary, check_template, templates_in
from controlplane.kernel.yaml import Path
from controlplane.model.action import Action

Finding = tuple[Path, str, str | None]
"""Where inside `with`, what is wrong, what is valid."""


def validate_parameters(action: Action[Any], with_: Mapping[str, Any], names: Vocabulary) -> list[Finding]:
    """Return every mistake in a step's parameters; ``names`` are those that templates may use."""
    templates = templates_in(with_)
    findings = [finding for path, text in templates for finding in _check(path, text, names)]
    known = known_parameters(action)
    findings += [
        ((name,), f"unknown parameter `{name}`", did_you_mean(name, known))
        for name in with_
        if name not in known
    ]
    given = {name: value for name, value in with_.items() if name in known}
    try:
        action.parameters.model_validate(given)
    except ValidationError as error:
        later = [path for path, _ in templates]
        for detail in error.errors(include_url=False):
            finding = _explain(action, given, detail)
            certain = detail["type"] in {"missing", "extra_forbidden"}
            if certain or not _depends(finding[0], later):
                findings.append(finding)
    return findings


def known_parameters(action: Action[Any]) -> list[str]:
    """Return the names of an action's parameters, as they are written in YAML."""
    fields = action.parameters.model_fields
    return [field.alias or name for name, field in fields.items()]


def _check(path: Path, text: str, names: Vocabulary) -> list[Finding]:
    try:
        check_template(text, names)
    except InvalidInput as error:
        return [(path, error.message, error.hint)]
    return []


def _explain(action: Action[Any], with_: Mapping[str, Any], detail: Any) -> Finding:
    path = _path(with_, detail["loc"])
    match detail["type"]:
        case "extra_forbidden":
            return path, f"unknown key `{detail['loc'][-1]}`", None
        case "missing":
            name = str(detail["loc"][-1])
            return path[:-1], f"`{name}` is missing", _describe(action, name)
        case _:
            cause = getattr(detail.get("ctx", {}).get("error"), "__cause__", None)
            hint = cause.hint if isinstance(cause, FleetwardError) else None
            return path, detail["msg"].removeprefix("Value error, "), hint


def _path(with_: Mapping[str, Any], loc: tuple[int | str, ...]) -> Path:
    """Drop the parts of Pydantic's location that are no keys: tags of unions, names of validators."""
    path: Path = ()
    value: Any = with_
    for index, part in enumerate(loc):
        within = (isinstance(value, Mapping) and part in value) or (
            isinstance(value, list | tuple) and isinstance(part, int) and part < len(value)
        )
        if within:
            path, value = (*path, part), value[part]
        elif index == len(loc) - 1 and isinstance(value, Mapping):
            path = (*path, part)
    return path


def _depends(path: Path, templates: list[Path]) -> bool:
    """Tell whether a mistake at ``path`` may vanish once the templates have values."""
    return any(path[: len(other)] == other or other[: len(path)] == path for other in templates)


def _describe(action: Action[Any], name: str) -> str | None:
    for field_name, field in action.parameters.model_fields.items():
        if name in {field_name, field.alias}:
            return field.description
    return None
