"""Data as YAML text that people read: blocks, keys in the order given, texts of several lines as they are.

What it writes reads back as the same data (`controlplane.kernel.yaml`); it knows no kind.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import DoubleQuotedScalarString, LiteralScalarString

WIDTH = 1 << 20


def dump_documents(documents: Sequence[Any]) -> str:
    """Return documents as one text, with ``---`` between them."""
    yaml = YAML()
    yaml.width = WIDTH
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    for index, document in enumerate(documents):
        stream.write("---\n" if index else "")
        yaml.dump(_readable(document), stream)
    return stream.getvalue()


def _readable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _readable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_readable(part) for part in value]
    if isinstance(value, str) and "\n" in value:
        return _block(value)
    return value


def _block(text: str) -> str:
    """Lines as they are where YAML can keep them so: no blank at the ends, no sign that needs quotes."""
    lines = text.split("\n")
    plain = all(line == line.rstrip() and (not line or line.isprintable()) for line in lines)
    if plain and lines[0] and not lines[0].startswith(" ") and "\t" not in text:
        block: str = LiteralScalarString(text)
        return block
    quoted: str = DoubleQuotedScalarString(text)
    return quoted
