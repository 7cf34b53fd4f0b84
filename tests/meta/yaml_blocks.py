"""Every YAML block that somebody may copy, put through the loader that will read the copy.

A block is a whole document, or a part that is completed here to one: a step, steps, triggers,
or fields of a kind's spec. What cannot be completed says so in its fence, with the reason:
three backticks, then ``yaml fragment: the values are made up``.
"""

import ast
import io
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from controlplane.actions.validate import check_bundle
from controlplane.model.action import ActionRegistry
from controlplane.model.documents import KINDS, load_bundle
from tests.meta.tree import Source

_FENCE = re.compile(r"^( *)```ya?ml *([^\n]*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_EXCUSE = re.compile(r"fragment: \S+ \S.*")
_STEP = {"id": "one", "uses": "notify.send", "with": {"channel": "x", "title": "x"}}


@dataclass(frozen=True)
class Block:
    """One block: where it begins, what its fence says after ``yaml``, and its text."""

    place: str
    info: str
    text: str


def blocks(path: str, text: str) -> Iterator[Block]:
    """Yield the blocks of a text."""
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        yield Block(f"{path}:{line}", found.group(2).strip(), textwrap.dedent(found.group(3)).rstrip())


def docstring_blocks(source: Source) -> Iterator[Block]:
    """Yield the blocks in the docstrings of a module."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from blocks(source.path, ast.get_docstring(node) or "")


def problems(block: Block, actions: ActionRegistry) -> list[str]:
    """Return what the loader says of a block; a marked fragment needs a reason and nothing else."""
    if block.info:
        wrong = f"{block.place}: write `yaml fragment: the reason`, not `yaml {block.info}`"
        return [] if _EXCUSE.fullmatch(block.info) else [wrong]
    try:
        parts = list(YAML(typ="safe", pure=True).load_all(block.text))
    except YAMLError as error:
        return [f"{block.place}: {error}"]
    if all(isinstance(part, dict) and "apiVersion" in part for part in parts):
        text, whole = block.text, True
    else:
        completed = _completed(parts[0]) if len(parts) == 1 else None
        if completed is None:
            return [
                f"{block.place}: neither a document nor a part of one; or mark it `yaml fragment: the reason`"
            ]
        text, whole = completed, False
    bundle = check_bundle(load_bundle([(block.place, text)]), actions)
    return [
        f"{block.place}: {problem.path}: {problem.message}"
        for problem in bundle.problems
        if whole or not (problem.path == "spec" and problem.message.endswith("is missing"))
    ]


def _completed(part: Any) -> str | None:
    """Return a whole document around a part, as text; None if it is a part of nothing known."""
    if isinstance(part, list) and part and all(isinstance(item, dict) for item in part):
        if all("uses" in item for item in part):
            return _document("Playbook", {"steps": part})
        return _document("Playbook", {"triggers": part, "steps": [_STEP]}) if "type" in part[0] else None
    if not isinstance(part, dict):
        return None
    if "uses" in part:
        return _document("Playbook", {"steps": [{"id": "one", **part}]})
    if set(part) == {"spec"}:
        part = part["spec"]
    for name, kind in {"Playbook": KINDS["Playbook"], **KINDS}.items():
        fields = kind.model_fields["spec"].annotation.model_fields  # type: ignore[union-attr]
        if set(part) <= {field.alias for field in fields.values()}:
            return _document(name, {"steps": [_STEP], **part} if name == "Playbook" else part)
    return None


def _document(kind: str, spec: dict[str, Any]) -> str:
    whole = {"apiVersion": "fleetward.dev/v1", "kind": kind, "metadata": {"name": "part"}, "spec": spec}
    stream = io.StringIO()
    YAML(typ="safe", pure=True).dump(whole, stream)
    return stream.getvalue()
