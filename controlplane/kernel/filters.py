"""What expressions can say beside operators: filters, tests and functions, each with its meaning.

All are eager (`map` gives a list) and pay for what they make. What Jinja2 has beyond these
is left out: it grows without bound, formats, or reads attributes by text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import Undefined, filters, pass_context
from jinja2.runtime import Context
from jinja2.tests import TESTS as _JINJA

from controlplane.kernel.sandbox import MAX_RESULT, budget_of, make_environment, refuse, text_of, weigh

MAX_DIGITS = 15
MAX_RANGE = 10_000

Function = Callable[..., Any]
JINJA_TESTS: Mapping[str, Any] = _JINJA


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that expressions may use: how it is done, what it means, how it is written."""

    function: Function
    meaning: str
    example: str


def _paid(function: Function) -> Function:
    """Weigh what a filter is given, and pay for what it makes."""

    def filter_(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        weigh([value, *args, *kwargs.values()])
        return budget_of(context).pay(function(value, *args, **kwargs))

    return pass_context(filter_)


def _each(function: Function, *, with_context: bool = False) -> Function:
    """Give one of Jinja2's filters over items a list, pay for each item, and make a list of what comes."""

    def filter_(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        budget = budget_of(context)
        given = budget.take(_items(value), each=weigh([*args, *kwargs.values()]))
        result = function(context if with_context else context.environment, given, *args, **kwargs)
        return budget.pay(budget.take(result) if hasattr(result, "__next__") else result)

    return pass_context(filter_)


def _held(value: Any) -> Any:
    return value


def _slice(value: Any, start: Any, stop: Any, step: Any) -> Any:
    return value[start:stop:step]


def _items(value: Any) -> Iterable[Any]:
    if not isinstance(value, str | list | tuple | Mapping):
        msg = f"a {type(value).__name__} has no items"
        raise TypeError(msg)
    return value


def _pairs(value: Any) -> list[Any]:
    return [list(pair) for pair in value.items()]


def _first(value: Any) -> Any:
    return [*_items(value)][0]  # noqa: RUF015 - what is empty must be a LookupError


def _text(value: Any) -> str:
    if not isinstance(value, str):
        msg = f"a {type(value).__name__} is no text: write | string before"
        raise TypeError(msg)
    return value


def _default(value: Any, default: Any = "", boolean: bool = False) -> Any:  # noqa: FBT001, FBT002 - Jinja2's order
    return default if isinstance(value, Undefined) or (boolean and not value) else value


def _join(items: Any, separator: str = "") -> str:
    texts = [text_of(item) for item in _items(items)]
    if sum(map(len, texts)) + len(texts) * len(_text(separator)) > MAX_RESULT:
        refuse("the joined text is too long")
    return separator.join(texts)


def _replace(text: str, old: str, new: str) -> str:
    if len(text) + _text(text).count(old) * len(new) > MAX_RESULT:
        refuse("the replaced text is too long")
    return text.replace(old, new)


def _sum(items: Any) -> Any:
    if not all(isinstance(number, int | float) for number in _items(items)):
        msg = "sum adds numbers only: write map(attribute=...) | sum"
        raise TypeError(msg)
    return sum(items)


def _round(value: float, precision: int = 0) -> float:
    if abs(precision) > MAX_DIGITS:
        refuse(f"round keeps at most {MAX_DIGITS} digits")
    return round(float(value), precision)


def _float(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        refuse("the result is no finite number")
    return number


def _tojson(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _range(*bounds: int) -> list[int]:
    numbers = range(*bounds)
    if len(numbers) > MAX_RANGE:
        refuse(f"range() is bounded to {MAX_RANGE} items")
    return list(numbers)


FILTERS: Mapping[str, Offer] = {
    "abs": Offer(_paid(abs), "a number without its sign", "(a - b) | abs"),
    "default": Offer(
        pass_context(lambda _, value, *args, **kwargs: _default(value, *args, **kwargs)),
        "another value where there is none; with true also for false, 0 and empty",
        "steps.look.outputs.note | default('none')",
    ),
    "dictsort": Offer(_paid(filters.do_dictsort), "a map as sorted [key, value] pairs", "labels | dictsort"),
    "first": Offer(_paid(_first), "the first item", "service.zones | first"),
    "float": Offer(_paid(_float), "as a number with a point", "inputs.share | float"),
    "int": Offer(_paid(int), "as a whole number; what is none is an error", "'12' | int"),
    "items": Offer(_paid(_pairs), "a map as a list of [key, value]", "labels | items"),
    "join": Offer(_paid(_join), "the items as one text, with a text between", "service.zones | join(', ')"),
    "last": Offer(_paid(lambda items: list(_items(items))[-1]), "the last item", "service.zones | last"),
    "length": Offer(_paid(len), "how many items or letters", "service.zones | length"),
    "list": Offer(_paid(lambda items: list(_items(items))), "a list of the items", "'abc' | list"),
    "lower": Offer(_paid(lambda text: _text(text).lower()), "in lower case", "incident.zone | lower"),
    "map": Offer(
        _each(filters.sync_do_map, with_context=True),
        "each item through a filter, or one attribute of each",
        "rows | map(attribute='zone')",
    ),
    "max": Offer(_each(filters.do_max), "the greatest item", "[a, b] | max"),
    "min": Offer(_each(filters.do_min), "the least item", "[a, b] | min"),
    "reject": Offer(
        _each(filters.sync_do_reject, with_context=True),
        "the items that do not pass a test",
        "service.zones | reject('equalto', incident.zone)",
    ),
    "rejectattr": Offer(
        _each(filters.sync_do_rejectattr, with_context=True),
        "the items of which an attribute does not pass a test",
        "rows | rejectattr('state', 'equalto', 'up')",
    ),
    "replace": Offer(_paid(_replace), "one text replaced by another", "n | replace('-', '_')"),
    "reverse": Offer(_paid(lambda items: items[::-1]), "backwards", "service.zones | reverse"),
    "round": Offer(_paid(_round), "a number rounded to so many digits (0)", "ratio | round(2)"),
    "select": Offer(
        _each(filters.sync_do_select, with_context=True),
        "the items that pass a test, or are true",
        "numbers | select('gt', 3)",
    ),
    "selectattr": Offer(
        _each(filters.sync_do_selectattr, with_context=True),
        "the items of which an attribute passes a test",
        "rows | selectattr('value', 'gt', 0.5)",
    ),
    "sort": Offer(_each(filters.do_sort), "in order; takes reverse=true and attribute='...'", "zones | sort"),
    "string": Offer(_paid(text_of), "as text", "3 | string"),
    "sum": Offer(_paid(_sum), "the sum of numbers", "rows | map(attribute='value') | sum"),
    "tojson": Offer(_paid(_tojson), "as JSON", "inputs | tojson"),
    "trim": Offer(_paid(lambda text: _text(text).strip()), "without blanks around it", "text | trim"),
    "unique": Offer(_each(filters.sync_do_unique), "each item once", "rows | map(attribute='zone') | unique"),
    "upper": Offer(_paid(lambda text: _text(text).upper()), "in upper case", "incident.severity | upper"),
}  # fmt: skip
"""The filters, written `value | name(...)`."""

_TESTS = {
    "boolean": "true or false",
    "defined": "there is such a name",
    "divisibleby": "a number that another one divides",
    "eq": "equal; also `equalto`",
    "even": "an even number",
    "float": "a number with a point",
    "ge": "greater or equal",
    "gt": "greater; also `greaterthan`",
    "in": "among the items of a list, or a part of a text",
    "integer": "a whole number",
    "le": "less or equal",
    "lt": "less; also `lessthan`",
    "mapping": "a map",
    "ne": "not equal",
    "none": "null",
    "number": "a number",
    "odd": "an odd number",
    "sequence": "a list, a text or a map",
    "string": "a text",
    "undefined": "there is no such name",
}
_ALIASES = ("equalto", "greaterthan", "lessthan", "false", "true")

TESTS: Mapping[str, Offer] = {
    name: Offer(JINJA_TESTS[name], meaning, f"x is {name}") for name, meaning in _TESTS.items()
}
"""The tests, written `value is name` or `value is name(...)`."""

FUNCTIONS: Mapping[str, Offer] = {
    "range": Offer(_range, f"a list of whole numbers, at most {MAX_RANGE}", "range(3)"),
}

_INTERNAL = {"[]": _paid(_held), "[:]": _paid(_slice)}
"""What literals and slices are compiled to; their names cannot be written."""

ENVIRONMENT = make_environment(
    {name: offer.function for name, offer in FILTERS.items()} | _INTERNAL,
    {name: JINJA_TESTS[name] for name in (*TESTS, *_ALIASES)},
    {name: offer.function for name, offer in FUNCTIONS.items()},
)
