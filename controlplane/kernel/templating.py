"""The one expression language: Jinja2, sandboxed, strict about undefined names, native types.

Conditions are bare expressions (`evaluate`); text fields hold ``{{ }}`` (`render`). A lone
``{{ }}`` keeps its type and strings are never parsed again; anything else is text.
Statements (``{% %}``) are refused, names that start with an underscore are out of reach,
and what a template can cost is bounded. It knows none of the names it is given.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, nodes
from jinja2.exceptions import SecurityError, UndefinedError
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from controlplane.kernel.errors import InvalidInput

MAX_SOURCE = 4096
MAX_RESULT = 64 * 1024
MAX_RANGE = 10_000
_UNBOUNDED_FILTERS = ("batch", "center", "format", "indent", "slice", "urlize", "wordwrap", "xmlattr")
_DROPPED_FILTERS = ("attr", "pprint", "random", *_UNBOUNDED_FILTERS)
_GROWING_METHODS = frozenset(
    {
        "center",
        "expandtabs",
        "format",
        "format_map",
        "join",
        "ljust",
        "replace",
        "rjust",
        "translate",
        "zfill",
    }
)
"""Methods of texts that make a giant of a dwarf; the filters `join` and `replace` do it within bounds."""
_JINJA_NAMES = frozenset({"self", "super", "caller", "loop", "varargs", "kwargs"})
_LONE = re.compile(r"\s*\{\{((?:(?!\}\}).)*)\}\}\s*", re.DOTALL)


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox that also bounds repetition and powers, the two ways to make a giant of a dwarf."""

    intercepted_binops = frozenset({"*", "**", "%", "+"})

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        if isinstance(obj, str) and attr in _GROWING_METHODS:
            return False
        return not attr.startswith("_") and super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            msg = "text formatting by % is not allowed"
            raise SecurityError(msg)
        if operator == "**" and (abs(right) > 64 or abs(left) > 1_000_000):
            msg = "the power is too big"
            raise SecurityError(msg)
        if operator == "*" and isinstance(left, int) and not isinstance(right, int | float):
            left, right = right, left
        if operator == "*" and not isinstance(left, int | float) and len(left) * right > MAX_RESULT:
            msg = "the repetition is too long"
            raise SecurityError(msg)
        return super().call_binop(context, operator, left, right)


def _bounded_range(*args: int) -> range:
    result = range(*args)
    if len(result) > MAX_RANGE:
        msg = f"range() is bounded to {MAX_RANGE} items"
        raise SecurityError(msg)
    return result


def _join(items: Iterable[Any], separator: str = "") -> str:
    texts = [str(item) for item in itertools.islice(items, MAX_RANGE + 1)]
    if sum(map(len, texts)) + len(texts) * len(separator) > MAX_RESULT:
        msg = "the joined text is too long"
        raise SecurityError(msg)
    return separator.join(texts)


def _replace(text: str, old: str, new: str) -> str:
    if len(text) + text.count(old) * len(new) > MAX_RESULT:
        msg = "the replaced text is too long"
        raise SecurityError(msg)
    return text.replace(old, new)


def _make_environment() -> _Environment:
    environment = _Environment(undefined=StrictUndefined, autoescape=False)
    environment.globals = {"range": _bounded_range}
    for name in _DROPPED_FILTERS:
        environment.filters.pop(name, None)
    environment.filters |= {"join": _join, "replace": _replace}
    return environment


_ENVIRONMENT = _make_environment()


def check_expression(source: str, names: set[str] | None = None) -> None:
    """Raise `InvalidInput` if ``source`` is not one expression, or names what is not among ``names``."""
    _checked(source, lambda: _parse_expression(source), names)


def check_template(source: str, names: set[str] | None = None) -> None:
    """The same for a text that holds ``{{ }}``."""
    _checked(source, lambda: _parse_template(source), names)


def evaluate(source: str, values: Mapping[str, Any]) -> Any:
    """Evaluate a bare expression; errors come as `InvalidInput` that quotes the source."""
    _parse_expression(source)
    return _run(source, lambda: _ENVIRONMENT.compile_expression(source, undefined_to_none=False)(**values))


def render(source: Any, values: Mapping[str, Any]) -> Any:
    """Render a value from YAML: texts are templates, lists and maps are rendered inside, the rest is kept."""
    if isinstance(source, str):
        return _render_text(source, values)
    if isinstance(source, Mapping):
        return {key: render(value, values) for key, value in source.items()}
    if isinstance(source, list | tuple):
        return [render(item, values) for item in source]
    return source


def templates_in(source: Any) -> list[tuple[tuple[str | int, ...], str]]:
    """List every text that holds a template, with its path inside ``source``."""
    if isinstance(source, str):
        return [((), source)] if "{{" in source or "{%" in source else []
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


def _render_text(source: str, values: Mapping[str, Any]) -> Any:
    if "{{" not in source and "{%" not in source and "{#" not in source:
        return source
    lone = _LONE.fullmatch(source)
    if lone:
        return evaluate(lone.group(1).strip(), values)
    _parse_template(source)
    return _run(source, lambda: _ENVIRONMENT.from_string(source).render(**values))


def _parse_expression(source: str) -> nodes.Template:
    if any(mark in source for mark in ("{{", "}}", "{%", "{#")):
        msg = f"{_quote(source)} is a condition: write the bare expression, without {{{{ }}}}"
        raise InvalidInput(msg)
    return _parse_template("{{ " + source + " }}")


def _parse_template(source: str) -> nodes.Template:
    if len(source) > MAX_SOURCE:
        msg = f"the expression is over {MAX_SOURCE} characters"
        raise InvalidInput(msg)
    try:
        tree = _ENVIRONMENT.parse(source)
    except TemplateSyntaxError as error:
        msg = f"{_quote(source)} is not a valid expression: {error.message}"
        raise InvalidInput(msg) from error
    if any(not isinstance(node, nodes.Output) for node in tree.body):
        msg = f"{_quote(source)}: statements ({{% %}}) are not allowed"
        raise InvalidInput(msg, hint="use an expression: a if b else c, | map, | select")
    for node in tree.find_all((nodes.Name, nodes.Getattr)):
        name = (
            node.name
            if isinstance(node, nodes.Name)
            else node.attr
            if isinstance(node, nodes.Getattr)
            else ""
        )
        if name.startswith("_") or (isinstance(node, nodes.Name) and name in _JINJA_NAMES):
            msg = f"{_quote(source)}: the name `{name}` is not allowed"
            raise InvalidInput(msg)
    return tree


def _checked(source: str, parse: Callable[[], nodes.Template], names: set[str] | None) -> None:
    tree = parse()
    if names is None:
        return
    unknown = find_undeclared_variables(tree) - names - set(_ENVIRONMENT.globals)
    if unknown:
        msg = f"{_quote(source)}: unknown name `{min(unknown)}`"
        raise InvalidInput(msg, hint=f"valid names here: {', '.join(sorted(names))}")


def _run(source: str, work: Callable[[], Any]) -> Any:
    try:
        result = work()
        if isinstance(result, StrictUndefined):
            str(result)
    except UndefinedError as error:
        msg = f"{_quote(source)}: {error.message}"
        raise InvalidInput(msg) from error
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, MemoryError) as error:
        msg = f"{_quote(source)} cannot be evaluated: {error}"
        raise InvalidInput(msg) from error
    if isinstance(result, str | bytes | list | tuple | dict) and len(result) > MAX_RESULT:
        msg = f"{_quote(source)}: the result is over {MAX_RESULT} long"
        raise InvalidInput(msg)
    return result


def _quote(source: str) -> str:
    text = source.strip()
    return f"`{text if len(text) <= 80 else text[:77] + '...'}`"
