"""Where expressions run: a sandboxed Jinja2 environment in which everything costs.

Whatever an expression makes (a text, a list, a product) is weighed and paid from one
budget, so that time and memory end with the budget, however the growth is nested. Only
what stands on a list is within reach: kinds of syntax, filters, tests, functions, methods;
of an object its public data. Nothing here knows which names an expression may use.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any, NoReturn

from jinja2 import StrictUndefined, Undefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer
from pydantic import BaseModel

MAX_RESULT = 64 * 1024
"""What one value may weigh: a text its bytes in UTF-8, anything else one for each thing it holds."""

BUDGET = 4 * MAX_RESULT
"""What all values of one evaluation may weigh together."""

MAX_BITS = 256
"""The longest whole number that arithmetic may make."""

METHODS: Mapping[type, tuple[str, ...]] = {
    str: (
        "count", "endswith", "find", "isalnum", "isalpha", "isdigit", "lower", "lstrip", "partition",
        "removeprefix", "removesuffix", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith",
        "strip", "upper",
    ),
    list: ("count", "index"),
    tuple: ("count", "index"),
    dict: ("get", "items", "keys", "values"),
    datetime: ("date", "isoformat", "isoweekday", "time", "timestamp", "weekday"),
    timedelta: ("total_seconds",),
}  # fmt: skip
"""The methods that may be called; none of them grows what it is given."""

DATA: Mapping[type, tuple[str, ...]] = {
    datetime: ("year", "month", "day", "hour", "minute", "second"),
    date: ("year", "month", "day"),
    timedelta: ("days", "seconds"),
}
"""What may be read of values of the standard library; of our own objects it is their public data."""

_BUDGET_KEY = "_budget"
_ATOMS = frozenset({bool, float, type(None)})


class Budget:
    """What an evaluation may still make."""

    def __init__(self, left: int = BUDGET) -> None:
        self.left = left

    def pay(self, value: Any) -> Any:
        """Weigh ``value``, take it off, and return it."""
        self.spend(weigh(value))
        return value

    def spend(self, amount: int) -> None:
        self.left -= amount
        if self.left < 0:
            refuse("the expression makes too much")

    def take(self, items: Iterable[Any], each: int = 1) -> list[Any]:
        """Return ``items`` as a list, paying for each as it comes."""
        taken = []
        for item in items:
            self.spend(each)
            taken.append(item)
        return taken


def refuse(message: str) -> NoReturn:
    """End the evaluation."""
    raise SecurityError(message)


def budget_of(context: Context) -> Budget:
    """Return the budget of the evaluation that ``context`` belongs to."""
    budget: Budget = context.parent[_BUDGET_KEY]
    return budget


def weigh(value: Any) -> int:
    """Return what ``value`` weighs, as if nothing in it were shared; over the bound it is refused."""
    total, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        kind = type(item)
        total += 1
        if kind is str:
            total += len(item) if item.isascii() else len(item.encode("utf-8", "surrogatepass"))
        elif kind is int:
            if item.bit_length() > MAX_BITS:
                refuse("the number is too big")
        elif kind not in _ATOMS:
            inside = _inside(item)
            total += len(inside)
            if total <= MAX_RESULT:
                waiting += inside
        if total > MAX_RESULT + 1:
            refuse(f"a value is over {MAX_RESULT >> 10} KiB")
    return total


def _inside(item: Any) -> list[Any]:
    if isinstance(item, list | tuple):
        return list(item)
    if isinstance(item, Mapping):
        return [part for pair in item.items() for part in pair]
    if isinstance(item, str):
        return [str(item)]
    if isinstance(item, Undefined):
        str(item)  # raises, and says which name it is
    if isinstance(item, Method):
        refuse(f"`{item.name}` is a method: call it, `{item.name}()`")
    return []


def text_of(value: Any) -> str:
    """Return ``value`` as text, if it is small enough to be written."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, BaseModel):
        refuse(f"a {type(value).__name__} is no text: write one of its fields")
    weigh(value)
    return str(value)


@dataclass(frozen=True, slots=True)
class Method:
    """A method that may be called, bound to its value. A map's keys and values come as lists."""

    name: str
    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.name == "get" and args and isinstance(args[0], str) and args[0].startswith("_"):
            refuse(f"the name `{args[0]}` is not allowed")
        result = self.function(*args, **kwargs)
        listed = self.name in {"keys", "values", "items"}
        return list(result) if listed else result


class Environment(ImmutableSandboxedEnvironment):
    """Jinja2 without its ways to grow or to look behind things."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        _check_operation(operator, left, right)
        result = super().call_binop(context, operator, left, right)
        if isinstance(result, complex) or (
            _is_infinite(result) and not any(map(_is_infinite, (left, right)))
        ):
            refuse("the result is no finite number")
        return budget_of(context).pay(result)

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self._member(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(argument, str) and not isinstance(obj, str):
            return self._member(obj, argument)
        if isinstance(obj, Undefined):
            str(obj)
        try:
            return obj[argument]
        except (LookupError, TypeError):
            return self.undefined(_lacks(obj, argument))

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805, PYI063 - Jinja2's own signature
        if not isinstance(__obj, Method):
            refuse("only the documented functions and methods can be called")
        return budget_of(__context).pay(__obj(*args, **kwargs))

    def _member(self, obj: Any, name: str) -> Any:
        if name.startswith("_"):
            refuse(f"the name `{name}` is not allowed")
        if isinstance(obj, Undefined):
            str(obj)
        if isinstance(obj, Mapping) and name in obj:
            return obj[name]
        for kind, names in METHODS.items():
            if isinstance(obj, kind) and name in names:
                return Method(name, getattr(obj, name))
        own: Any = type(obj)
        attribute = _readable(own).get(name)
        return getattr(obj, attribute) if attribute else self.undefined(_lacks(obj, name))


def _lacks(obj: Any, name: Any) -> str:
    words = {
        str: "a text",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "a map",
    }
    kind = "null" if obj is None else words.get(type(obj), f"a {type(obj).__name__}")
    return f"there is no `{name}` in {kind}"


def _is_infinite(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _check_operation(operator: str, left: Any, right: Any) -> None:
    """Refuse what would be too big before it is made."""
    if isinstance(left, Undefined) or isinstance(right, Undefined):
        return
    if operator == "%" and isinstance(left, str | bytes):
        refuse("formatting by % is not allowed: write the text with {{ }}")
    if isinstance(left, int) and isinstance(right, int):
        bits = max(left.bit_length(), 1)
        power = operator == "**" and bits * abs(right) > MAX_BITS
        product = operator in "*+-" and bits + right.bit_length() > MAX_BITS
        if power or product:
            refuse("the number is too big")
    elif operator == "*":
        held, times = (right, left) if isinstance(left, int) else (left, right)
        if isinstance(held, str | list | tuple) and isinstance(times, int):
            size = weigh(held) * max(times, 0)
            if size > MAX_RESULT:
                refuse(f"a value is over {MAX_RESULT >> 10} KiB")


@cache
def _readable(kind: type[Any]) -> Mapping[str, str]:
    """Return what may be read of an object, by the names it has in YAML and in code: data, never methods."""
    if issubclass(kind, Method):
        return {}
    for base, names in DATA.items():
        if issubclass(kind, base):
            return {name: name for name in names}
    found: dict[str, str] = {}
    ours = [base for base in kind.__mro__ if not base.__module__.startswith(("builtins", "pydantic", "enum"))]
    for base in ours:
        found |= {name: name for name, value in vars(base).items() if isinstance(value, property)}
    if is_dataclass(kind):
        found |= {field.name: field.name for field in fields(kind)}
    if issubclass(kind, BaseModel):
        for name, info in kind.model_fields.items():
            found |= {name: name, info.alias or name: name}
    return {name: attribute for name, attribute in found.items() if not name.startswith("_")}


class Rewriter(NodeTransformer):
    """Sends what Jinja2 would compile to plain Python past the budget: literals, slices, ``~``."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - Jinja2 looks it up by this name
        self.generic_visit(node)
        return _filter(nodes.List(node.nodes), "join")

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802 - as above
        self.generic_visit(node)
        if not isinstance(node.arg, nodes.Slice):
            return node
        bounds = [part or nodes.Const(None) for part in (node.arg.start, node.arg.stop, node.arg.step)]
        return _filter(node.node, "[:]", *bounds)

    def _held(self, node: Any) -> nodes.Node:
        self.generic_visit(node)
        return _filter(node, "[]")

    visit_List = visit_Tuple = visit_Dict = _held  # noqa: N815 - as above


def _filter(node: nodes.Expr, name: str, *args: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(args), [], None, None)


def compile_node(environment: Environment, expression: nodes.Expr) -> Callable[[Mapping[str, Any]], Any]:
    """Return a function from names to the expression's value."""
    rewritten = Rewriter().visit(expression)
    body = nodes.Assign(nodes.Name("_value", "store"), rewritten, lineno=1)
    tree = nodes.Template([body], lineno=1)
    tree.set_lineno(1)
    tree.set_environment(environment)
    template = environment.from_string(tree)

    def run(values: Mapping[str, Any]) -> Any:
        context = template.new_context({**values, _BUDGET_KEY: Budget()})
        deque(template.root_render_func(context), maxlen=0)
        result = context.vars["_value"]
        weigh(result)
        return result

    return run


def make_environment(
    filters: Mapping[str, Callable[..., Any]],
    tests: Mapping[str, Callable[..., Any]],
    functions: Mapping[str, Callable[..., Any]],
) -> Environment:
    """Return an environment that offers these and nothing else."""
    environment = Environment(
        undefined=StrictUndefined, autoescape=False, optimized=False, keep_trailing_newline=True
    )
    environment.filters = dict(filters)
    environment.tests = dict(tests)
    environment.globals = {name: Method(name, function) for name, function in functions.items()}
    return environment
