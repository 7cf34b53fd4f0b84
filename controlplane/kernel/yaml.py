"""YAML documents as plain data that remembers where each value stood.

YAML 1.2 (``on`` is text, ``20:00`` is text), every duplicate key is reported, and bombs
are refused: files over 1 MiB, nesting over 64, documents that aliases blow up. It knows
nothing of what the documents mean; `controlplane.model.documents` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from controlplane.kernel.compose import MAX_DEPTH, Node, NotYaml, compose
from controlplane.kernel.errors import Problem

MAX_BYTES = 1 << 20
MAX_NODES = 50_000

Path = tuple[str | int, ...]


@dataclass(slots=True)
class Document:
    """One document: ``data`` (dicts, lists, scalars) and the position of each path.

    ``positions`` maps a path to (line, column) from 1: for a key's path, where its value
    begins; ``keys`` where the key itself begins.
    """

    file: str
    data: Any = None
    line: int = 1
    text: str = ""
    positions: dict[Path, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Path, tuple[int, int]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def locate(self, path: Path, *, key: bool = False) -> tuple[int, int]:
        """Return the position of ``path``, or of the nearest thing that holds it."""
        if key and path in self.keys:
            return self.keys[path]
        while path and path not in self.positions:
            path = path[:-1]
        return self.positions.get(path, (self.line, 1))

    def problem(
        self, path: Path, message: str, suggestion: str | None = None, *, key: bool = False
    ) -> Problem:
        """Describe a mistake at ``path``."""
        line, column = self.locate(path, key=key)
        return Problem(self.file, line, column, format_path(path), message, suggestion)


def format_path(path: Path) -> str:
    """Write a path as people read it: ``spec.steps[0].uses``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def load_documents(text: str, file: str) -> Iterator[Document]:
    """Yield the documents of a file; syntax errors and bombs come back as problems, never raised."""
    if len(text.encode()) > MAX_BYTES:
        yield Document(file, problems=[Problem(file, 1, 1, "", f"the file is over {MAX_BYTES >> 20} MiB")])
        return
    lines = text.splitlines(keepends=True)
    try:
        for node in compose(text):
            document = Document(file, line=node.line)
            document.text = "".join(lines[node.line - 1 : node.last])
            document.data = _Builder(document).build(node, (), 0)
            yield document
    except NotYaml as error:
        problem = Problem(file, error.line, error.column, "", f"not valid YAML: {error}")
        yield Document(file, problems=[problem])


class _Builder:
    """Turns composed nodes into plain data, noting positions and duplicate keys."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.nodes = 0

    def build(self, node: Node, path: Path, depth: int) -> Any:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            msg = f"it nests deeper than {MAX_DEPTH} or holds over {MAX_NODES} values (aliases counted)"
            raise NotYaml(msg)
        self.document.positions[path] = (node.line, node.column)
        if node.kind == "mapping":
            return self._mapping(node, path, depth)
        if node.kind == "sequence":
            return [self.build(item, (*path, index), depth + 1) for index, item in enumerate(node.value)]
        return self._scalar(node.value, node.tag, path)

    def _mapping(self, node: Node, path: Path, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = str(key_node.value) if key_node.kind == "scalar" else None
            where = (key_node.line, key_node.column)
            if key is None:
                self._note(where, path, "a key must be plain text")
            elif key in result:
                first = self.document.keys[(*path, key)]
                self._note(
                    where,
                    (*path, key),
                    f"duplicate key `{key}`",
                    f"see line {first[0]}; keep one",
                )
            else:
                self.document.keys[(*path, key)] = where
                result[key] = self.build(value_node, (*path, key), depth + 1)
        return result

    def _note(self, where: tuple[int, int], path: Path, message: str, suggestion: str | None = None) -> None:
        self.document.problems.append(
            Problem(self.document.file, *where, format_path(path), message, suggestion)
        )

    def _scalar(self, text: str, tag: str, path: Path) -> Any:
        match tag:
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int":
                return self._number(int, text, path)
            case "float":
                return self._number(float, text, path)
            case "str":
                return text
            case other:
                self._note(self.document.positions[path], path, f"the tag `{other}` is not allowed")
                return text

    def _number(self, kind: type[int | float], text: str, path: Path) -> Any:
        plain = text.replace("_", "")
        try:
            if kind is float:
                return float(plain.replace(".inf", "inf").replace(".nan", "nan"))
            return int(plain, 0) if plain[:2].lower() in {"0x", "0o", "0b"} else int(plain)
        except ValueError:
            self._note(self.document.positions[path], path, f"{text[:40]!r} is not a number")
            return text
