"""From a YAML text to its nodes: by libyaml, and by ruamel.yaml what libyaml refuses or takes otherwise.

libyaml reads many times as fast. ruamel.yaml follows YAML 1.2 to the letter, and its words for
a mistake are plainer; so a text that is not valid, nests too deeply, names its own version, or
holds what YAML 1.1 and 1.2 take otherwise, is read by it from the beginning. Where libyaml is not
installed it reads everything. It knows one limit, that of depth, and no meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

try:
    import yaml
    from yaml.events import (
        AliasEvent,
        MappingEndEvent,
        MappingStartEvent,
        ScalarEvent,
        SequenceEndEvent,
        StreamEndEvent,
    )
except ImportError:  # an environment of before it was needed: slower, and as right
    LIBYAML = False
else:
    LIBYAML = bool(yaml.__with_libyaml__)

MAX_DEPTH = 64

_TAG = "tag:yaml.org,2002:"
_OTHERWISE = frozenset("\t\x85\u2028\u2029\ufeff")
"""Characters that the two take otherwise: what ends a line in YAML 1.1 alone, and where a tab may stand."""

_TEXTS = frozenset({"timestamp", "merge", "value"})
_NUMERIC = frozenset("-+.0123456789")
_FLOAT = re.compile(
    r"[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+"
    r"|[-+]?\.[0-9_]+(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
_INT = re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]+|[0-9_]+|0x[0-9a-fA-F_]+)")
_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), "null"),
    **dict.fromkeys(("true", "True", "TRUE", "false", "False", "FALSE"), "bool"),
}


@dataclass(slots=True)
class Node:
    """One node, with its place from 1. ``value``: a text, a list of nodes, or a list of pairs of nodes.

    Only a scalar has a ``tag``. An alias is the node that it names, once more. ``last``: the line in which
    it ends.
    """

    kind: Literal["scalar", "sequence", "mapping"]
    tag: str
    value: Any
    line: int
    column: int
    last: int


class NotYaml(ValueError):
    """What is wrong with a text, and where."""

    def __init__(self, problem: str, line: int = 1, column: int = 1) -> None:
        super().__init__(problem)
        self.line, self.column = line, column


class _Otherwise(Exception):
    """Not for libyaml."""


def compose(text: str) -> Iterable[Node]:
    """Return the documents of a text; iterating raises `NotYaml`, after the documents before the mistake."""
    if LIBYAML and _OTHERWISE.isdisjoint(text):
        try:
            return list(_by_libyaml(text))
        except (yaml.YAMLError, _Otherwise):
            pass
    return _by_ruamel(text)


def _by_libyaml(text: str) -> Iterator[Node]:
    events: Iterator[Any] = yaml.parse(text, yaml.CBaseLoader)
    next(events)  # the stream begins
    while not isinstance(start := next(events), StreamEndEvent):
        if start.version is not None:
            raise _Otherwise
        root = _Composer(events).compose(next(events), 0)
        if root.kind == "scalar":
            raise _Otherwise  # where a text ends that has no indentation, they do not agree
        yield root
        next(events)  # the document ends


class _Composer:
    """Puts the events of one document together."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._named: dict[str, Node] = {}

    def compose(self, event: Any, depth: int) -> Node:
        """Return the node that begins with this event."""
        if depth > MAX_DEPTH:
            raise _Otherwise
        if isinstance(event, ScalarEvent):
            return self._named_as(event, _node(event, "scalar", _tag(event), event.value))
        if isinstance(event, AliasEvent):
            if event.anchor not in self._named:
                raise _Otherwise
            return self._named[event.anchor]
        inside: list[Any] = []
        if isinstance(event, MappingStartEvent):
            node = self._named_as(event, _node(event, "mapping", "", inside))
            while not isinstance(event := next(self._events), MappingEndEvent):
                key = self.compose(event, depth + 1)
                inside.append((key, self.compose(next(self._events), depth + 1)))
        else:
            node = self._named_as(event, _node(event, "sequence", "", inside))
            while not isinstance(event := next(self._events), SequenceEndEvent):
                inside.append(self.compose(event, depth + 1))
        node.last = event.end_mark.line + 1
        return node

    def _named_as(self, event: Any, node: Node) -> Node:
        if event.anchor is not None:
            self._named[event.anchor] = node
        return node


def _node(event: Any, kind: Any, tag: str, value: Any) -> Node:
    mark = event.start_mark
    return Node(kind, tag, value, mark.line + 1, mark.column + 1, event.end_mark.line + 1)


def _tag(event: ScalarEvent) -> str:
    """Return a scalar's tag: its own, or what YAML 1.2 takes a plain one for."""
    if event.tag is not None and event.tag != "!":
        return _short(event.tag)
    text = event.value
    if not event.implicit[0]:
        if not event.style:
            raise _Otherwise  # a tag that names nothing, on nothing
        return "str"
    if text in _WORDS:
        return _WORDS[text]
    if text[0] in _NUMERIC:
        if _FLOAT.fullmatch(text):
            return "float"
        if _INT.fullmatch(text):
            return "int"
    return "str"


def _short(tag: str) -> str:
    """Return a tag without what all of YAML's own have in common; what is text to us is ``str``."""
    name = tag.removeprefix(_TAG)
    return "str" if name in _TEXTS else name


def _by_ruamel(text: str) -> Iterator[Node]:
    from ruamel.yaml import YAML  # noqa: PLC0415 - seldom needed, and loads as long as much else
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415 - as above

    try:
        for root in YAML(typ="safe", pure=True).compose_all(text):
            yield _translated(root, {})
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else ()
        raise NotYaml(str(error.problem or error.context), *place) from error
    except RecursionError as error:
        msg = f"it nests deeper than {MAX_DEPTH}"
        raise NotYaml(msg) from error
    except (YAMLError, ValueError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise NotYaml(first) from error


def _translated(node: Any, known: dict[int, Node]) -> Node:
    """Return a node of ruamel.yaml as ours; what aliases share is shared here too."""
    if id(node) in known:
        return known[id(node)]
    start, last = node.start_mark, node.end_mark.line + 1
    value, tag = (node.value, _short(str(node.tag))) if node.id == "scalar" else ([], "")
    found = known[id(node)] = Node(node.id, tag, value, start.line + 1, start.column + 1, last)
    if node.id == "mapping":
        value += [(_translated(key, known), _translated(each, known)) for key, each in node.value]
    elif node.id == "sequence":
        value += [_translated(each, known) for each in node.value]
    return found
