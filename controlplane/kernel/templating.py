"""The one expression language: Jinja2, sandboxed, strict about undefined names, native types.

Conditions are bare expressions (`evaluate`); text fields hold ``{{ }}`` (`render`). A lone
``{{ }}`` keeps its type and strings are never parsed again; anything else is text.
Statements (``{% %}``) and comments (``{# #}``) are refused, names that start with an
underscore are out of reach, and what an expression can cost is bounded
(`controlplane.kernel.sandbox`). What it offers stands in `controlplane.kernel.filters`; of
the names that it is given it knows what the caller tells, as a `Vocabulary`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from jinja2 import TemplateError, TemplateSyntaxError, nodes
from jinja2.exceptions import UndefinedError
from jinja2.parser import Parser

from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.filters import ENVIRONMENT, FUNCTIONS
from controlplane.kernel.registry import did_you_mean
from controlplane.kernel.sandbox import BUDGET, MAX_BITS, compile_node, weigh

MAX_SOURCE = 4096
MAX_DEPTH = 60

Vocabulary = Mapping[str, Any] | Collection[str]
"""Names that expressions may use. As a map: what is known inside each, again a map, or None for
anything; an `OutOfPlace` for what is known, and may not be used here."""


class OutOfPlace(str):
    """Why a name that is known may not be used in this place."""

    __slots__ = ()


_MARKS = ("{{", "{%", "{#")
_JINJA_NAMES = frozenset({"self", "super", "caller", "loop", "varargs", "kwargs"})
_SYNTAX = (
    nodes.Add, nodes.And, nodes.Call, nodes.Compare, nodes.Concat, nodes.CondExpr, nodes.Const, nodes.Dict,
    nodes.Div, nodes.Filter, nodes.FloorDiv, nodes.Getattr, nodes.Getitem, nodes.Keyword, nodes.List,
    nodes.Mod, nodes.Mul, nodes.Name, nodes.Neg, nodes.Not, nodes.Operand, nodes.Or, nodes.Pair, nodes.Pos,
    nodes.Pow, nodes.Slice, nodes.Sub, nodes.TemplateData, nodes.Test, nodes.Tuple,
)  # fmt: skip
_FAILURES = (
    TemplateError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError, MemoryError,
    RecursionError,
)  # fmt: skip


def check_expression(source: str, names: Vocabulary | None = None) -> None:
    """Raise `InvalidInput` if ``source`` is not one expression, or names what is not among ``names``."""
    _check_names(source, [_expression(source)], names)


def check_template(source: str, names: Vocabulary | None = None) -> None:
    """The same for a text that holds ``{{ }}``."""
    _check_names(source, _parts(source), names)


def evaluate(source: str, values: Mapping[str, Any]) -> Any:
    """Evaluate a bare expression; errors come as `InvalidInput` that quotes the source."""
    return _run(source, lambda: _compiled_expression(source)(values))


def render(source: Any, values: Mapping[str, Any]) -> Any:
    """Render a value from YAML: texts are templates, lists and maps are rendered inside, the rest is kept.

    What the templates inside make may weigh `controlplane.kernel.sandbox.BUDGET` together.
    """
    return _Rendering(values).render(source)


def templates_in(source: Any) -> list[tuple[tuple[str | int, ...], str]]:
    """List every text that holds a template, with its path inside ``source``."""
    if isinstance(source, str):
        return [((), source)] if _is_template(source) else []
    found: list[tuple[tuple[str | int, ...], str]] = []
    items: Any = (
        source.items()
        if isinstance(source, Mapping)
        else enumerate(source)
        if isinstance(source, list | tuple)
        else ()
    )
    for key, value in items:
        found += [((key, *path), text) for path, text in templates_in(value)]
    return found


class _Rendering:
    """One call of `render`: all texts inside one value, and what they may make together."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.left = BUDGET

    def render(self, source: Any) -> Any:
        if isinstance(source, str):
            return self._text(source) if _is_template(source) else source
        if isinstance(source, Mapping):
            return {key: self.render(value) for key, value in source.items()}
        if isinstance(source, list | tuple):
            return [self.render(item) for item in source]
        return source

    def _text(self, source: str) -> Any:
        result = _run(source, lambda: _compiled_template(source)(self.values))
        self.left -= weigh(result)
        if self.left < 0:
            msg = f"the templates of one value make over {BUDGET >> 10} KiB together"
            raise InvalidInput(msg)
        return result


def _is_template(text: str) -> bool:
    return any(mark in text for mark in _MARKS)


@lru_cache(maxsize=512)
def _compiled_expression(source: str) -> Callable[[Mapping[str, Any]], Any]:
    return compile_node(ENVIRONMENT, _expression(source))


@lru_cache(maxsize=512)
def _compiled_template(source: str) -> Callable[[Mapping[str, Any]], Any]:
    parts = _parts(source)
    values = [part for part in parts if not isinstance(part, nodes.TemplateData)]
    around = "".join(part.data for part in parts if isinstance(part, nodes.TemplateData))
    if len(values) == 1 and not around.strip():
        return compile_node(ENVIRONMENT, values[0])
    texts = [nodes.Const(part.data) if isinstance(part, nodes.TemplateData) else part for part in parts]
    return compile_node(ENVIRONMENT, nodes.Concat(texts))


def _expression(source: str) -> nodes.Expr:
    """Parse a bare expression."""
    if source.lstrip().startswith(_MARKS):
        msg = f"{_quote(source)} is a condition: write the bare expression, without {{{{ }}}}"
        raise InvalidInput(msg)

    def parse() -> nodes.Expr:
        parser = Parser(ENVIRONMENT, source, state="variable")
        expression = parser.parse_expression()
        if not parser.stream.eos:
            message = "there is more after the expression"
            raise TemplateSyntaxError(message, parser.stream.current.lineno)
        return expression

    return cast("nodes.Expr", _parse(source, parse))


def _parts(source: str) -> list[nodes.Expr]:
    """Parse a text with ``{{ }}`` into its pieces."""

    def parse() -> nodes.Template:
        return ENVIRONMENT.parse(source)

    _bounded(source)
    _refuse_statements(source)
    tree = _parse(source, parse)
    return [part for output in tree.find_all(nodes.Output) for part in output.nodes]


def _refuse_statements(source: str) -> None:
    try:
        kinds = {token for _, token, _ in ENVIRONMENT.lex(source)}
    except TemplateSyntaxError as error:
        msg = f"{_quote(source)} is not a valid expression: {error.message}"
        raise InvalidInput(msg) from error
    if kinds & {"block_begin", "raw_begin"}:
        msg = f"{_quote(source)}: statements ({{% %}}) are not allowed"
        raise InvalidInput(msg, hint="use an expression: a if b else c, | map, | select")
    if "comment_begin" in kinds:
        msg = f"{_quote(source)}: comments ({{# #}}) are not allowed"
        raise InvalidInput(msg, hint="write a comment of YAML, or {{ '{#' }} for the text")


def _bounded(source: str) -> None:
    if len(source) > MAX_SOURCE:
        msg = f"the expression is over {MAX_SOURCE} characters"
        raise InvalidInput(msg)


def _parse(source: str, parse: Callable[[], nodes.Node]) -> nodes.Node:
    _bounded(source)
    try:
        tree = parse()
        _check_syntax(tree)
    except TemplateSyntaxError as error:
        msg = f"{_quote(source)} is not a valid expression: {error.message}"
        raise InvalidInput(msg) from error
    except RecursionError as error:
        msg = f"{_quote(source)} nests too deeply"
        raise InvalidInput(msg) from error
    except InvalidInput as error:
        msg = f"{_quote(source)}: {error.message}"
        raise InvalidInput(msg, hint=error.hint) from error
    return tree


def _check_syntax(tree: nodes.Node) -> None:
    """Raise for syntax that is not on the list, names out of reach, and unknown filters and tests."""
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise InvalidInput(f"it nests deeper than {MAX_DEPTH}")
        if not isinstance(node, (*_SYNTAX, nodes.Template, nodes.Output)):
            raise InvalidInput(f"{type(node).__name__.lower()} is not allowed")
        _check_node(node)
        waiting += [(child, depth + 1) for child in node.iter_child_nodes()]


def _check_node(node: nodes.Node) -> None:
    match node:
        case nodes.Name(name=name) if name.startswith("_") or name in _JINJA_NAMES:
            raise InvalidInput(f"the name `{name}` is not allowed")
        case nodes.Getattr(attr=name) | nodes.Getitem(arg=nodes.Const(value=str(name))) if name.startswith(
            "_"
        ):
            raise InvalidInput(f"the name `{name}` is not allowed")
        case nodes.Filter(name=name) if name not in ENVIRONMENT.filters:
            raise InvalidInput(f"there is no filter `{name}`", hint=did_you_mean(name, _written("filters")))
        case nodes.Test(name=name) if name not in ENVIRONMENT.tests:
            raise InvalidInput(f"there is no test `{name}`", hint=did_you_mean(name, _written("tests")))
        case nodes.Const(value=int(number)) if number.bit_length() > MAX_BITS:
            raise InvalidInput("the number is too big")
    if getattr(node, "dyn_args", None) is not None or getattr(node, "dyn_kwargs", None) is not None:
        raise InvalidInput("arguments by * and ** are not allowed")


def _written(what: str) -> list[str]:
    return [name for name in getattr(ENVIRONMENT, what) if name.isalpha()]


def _check_names(source: str, parts: list[nodes.Expr], names: Vocabulary | None) -> None:
    if names is None:
        return
    known = names if isinstance(names, Mapping) else dict.fromkeys(names)
    for part in parts:
        for path in references(part):
            _check_path(source, path, known)


def names_read(source: str) -> list[tuple[str, ...]]:
    """Return what a text with ``{{ }}``, or else a bare expression, reads; nothing if it is neither."""
    try:
        parts = _parts(source) if _is_template(source) else [_expression(source)]
    except InvalidInput:
        return []
    return [path for part in parts for path in references(part)]


def references(node: nodes.Node) -> Iterator[tuple[str, ...]]:
    """Yield what an expression reads of its names: ``steps.shift.outputs`` as a tuple, while fixed."""
    path = _path(node)
    if path:
        yield path
        return
    for child in node.iter_child_nodes():
        yield from references(child)


def _path(node: nodes.Node) -> tuple[str, ...]:
    match node:
        case nodes.Name(name=name):
            return (name,)
        case (
            nodes.Getattr(node=inner, attr=name) | nodes.Getitem(node=inner, arg=nodes.Const(value=str(name)))
        ):
            head = _path(inner)
            return (*head, name) if head else ()
    return ()


def _check_path(source: str, path: tuple[str, ...], known: Mapping[str, Any]) -> None:
    if path[0] in FUNCTIONS and len(path) == 1:
        return
    inside: Any = known
    for index, name in enumerate(path):
        if not isinstance(inside, Mapping):
            return
        if name not in inside:
            if index and name in _MAP_METHODS:
                return
            where = ".".join(path[: index + 1])
            msg = f"{_quote(source)}: unknown name `{where}`"
            raise InvalidInput(msg, hint=did_you_mean(name, list(inside)))
        inside = inside[name]
        if isinstance(inside, OutOfPlace):
            raise InvalidInput(f"{_quote(source)}: {inside}")


_MAP_METHODS = ("get", "items", "keys", "values")


def _run(source: str, work: Callable[[], Any]) -> Any:
    try:
        return work()
    except InvalidInput:
        raise
    except UndefinedError as error:
        msg = f"{_quote(source)}: {error.message}"
        raise InvalidInput(msg) from error
    except _FAILURES as error:
        msg = f"{_quote(source)} cannot be evaluated: {error}"
        raise InvalidInput(msg) from error


def _quote(source: str) -> str:
    text = source.strip()
    return f"`{text if len(text) <= 80 else text[:77] + '...'}`"
