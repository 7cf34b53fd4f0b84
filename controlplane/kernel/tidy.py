"""One layout for YAML files, so that a review shows what was meant and not how it was typed.

The envelope's keys come in one order, blocks are indented by two, comments and the author's
choice of `{}` or lines stay. What would change the meaning, lose a comment or not come to
rest is refused, and the text left as it is.
"""

from __future__ import annotations

import io
from collections import Counter
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError
from ruamel.yaml.tokens import CommentToken

from controlplane.kernel.errors import InvalidDocuments, InvalidInput
from controlplane.kernel.yaml import load_documents

ENVELOPE = ("apiVersion", "kind", "metadata", "spec")
METADATA = ("name", "labels", "annotations")
_ROUNDS = 4


def tidy(text: str, file: str) -> str:
    """Return ``text`` in the one layout; tidying that again changes nothing."""
    for _ in range(_ROUNDS):
        again = _once(text, file)
        if again == text:
            return text
        _keeps(text, again, file)
        text = again
    msg = f"{file} does not come to rest in the one layout"
    raise InvalidInput(msg, hint="move the comments that stand inside {} or [] to lines of their own")


def _once(text: str, file: str) -> str:
    problems = [problem for document in load_documents(text, file) for problem in document.problems]
    if problems:
        raise InvalidDocuments(problems)
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 1 << 20
    yaml.brace_single_entry_mapping_in_flow_sequence = True
    yaml.allow_duplicate_keys = False
    yaml.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    try:
        documents = list(yaml.load_all(text))
        for document in documents:
            _order(document)
        yaml.dump_all(documents, stream)
    except (YAMLError, ValueError, RecursionError, AttributeError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInput(f"{file} cannot be laid out: {first}") from error
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def _order(document: Any) -> None:
    if isinstance(document, CommentedMap):
        _first(document, ENVELOPE)
        if isinstance(document.get("metadata"), CommentedMap):
            _first(document["metadata"], METADATA)


def _first(found: CommentedMap, keys: tuple[str, ...]) -> None:
    """Move ``keys`` to the front, in their order; nothing moves when they are in it already."""
    wanted = [key for key in keys if key in found] + [key for key in found if key not in keys]
    if list(found) != wanted:
        for key in wanted:
            found.move_to_end(key)


def _keeps(before: str, after: str, file: str) -> None:
    """Raise if the meaning or a comment is not what it was."""
    meant, means = ([document.data for document in load_documents(text, file)] for text in (before, after))
    lost = Counter(_comments(before)) - Counter(_comments(after))
    if repr(meant) != repr(means) and meant != means:
        raise InvalidInput(f"{file} cannot be laid out without changing what it means")
    if lost:
        raise InvalidInput(f"{file} cannot be laid out without losing the comment `{min(lost)}`")


def _comments(text: str) -> list[str]:
    yaml = YAML()
    found: list[str] = []
    for token in yaml.scan(text):
        for comment in _attached(getattr(token, "_comment", None)):
            found += [line.strip() for line in comment.value.splitlines() if line.strip()]
    return found


def _attached(value: Any) -> list[CommentToken]:
    if isinstance(value, CommentToken):
        return [value]
    if isinstance(value, list | tuple):
        return [token for part in value for token in _attached(part)]
    return []
