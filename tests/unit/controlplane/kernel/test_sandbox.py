"""No expression hangs, grows, or looks behind what it is given: known attacks, then random ones."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.filters import FILTERS, FUNCTIONS, TESTS
from controlplane.kernel.sandbox import BUDGET, DATA, MAX_RESULT, METHODS, weigh
from controlplane.kernel.templating import check_expression, evaluate, render
from controlplane.model.target import Target

BIG = "ab" * 30_000
MANY = list(range(10_000))
NAMES: dict[str, Any] = {
    "incident": {"zone": "zone-a", "_hidden": 1},
    "now": datetime(2026, 1, 2, tzinfo=UTC),
    "target": Target("chat", zone="zone-a"),
    "n": 3,
    "big": BIG,
    "many": MANY,
}

GROWTH = [
    "[[0]*60000]*60000",
    "[[[0]*200]*200]*200",
    "(1).to_bytes(10**9, 'big')",
    "1.5 | round(10**9)",
    "10**10**10",
    "9999999999**64",
    "big ~ big",
    "big + big",
    "big * 3",
    "[big, big]",
    "{'a': big, 'b': big}",
    "many + many + many + many + many + many + many",
    "[many] * 60000 == [many] * 60000",
    "many | map('join', 'x' * 60000) | list",
    "many | map('string') | map('replace', '1', big) | list",
    "many | select('in', range(10000))",
    "big | map('upper') | join",
    "[big] | map('list')",
    "[" + ",".join(["big[:]"] * 500) + "]",
    "big.split('a')",
    "now.strftime('%0999999999Y')",
    "'x'.rjust(10**9)",
    "'x'.zfill(10**9)",
    "'\t'.expandtabs(10**9)",
    "many | sum(start=[])",
    "'a' | indent(10**9)",
    "'a' | wordwrap(1)",
    "many | slice(10**9)",
    "many | groupby('real')",
    "'a' | map(" + "'map', " * 300 + "'list')",
    "lipsum(10**6)",
    "cycler(1)",
    "dict(a=1)",
    "f(*many)",
    "f(**incident)",
    "0x" + "f" * 4000,
    "('9' * 4000) | int",
    "('9' * 5000) | int",
    "1e308 * 10",
    "'nan' | float",
    "(0 - 8) ** 0.5",
]
DEPTH = [
    "(" * 1000 + "1" + ")" * 1000,
    "[" * 500 + "]" * 500,
    "not " * 900 + "1",
    "-" * 3000 + "1",
    "1" + "+1" * 2000,
    "n" + ".x" * 1500,
    "1 if 1 else " * 300 + "1",
    "'a'" + "|list" * 700,
]
PRIVATE = [
    "incident._hidden",
    "incident['_hidden']",
    "incident['_' ~ 'hidden']",
    "incident.get('_hidden')",
    "[incident] | map(attribute='_hidden')",
    "[incident] | selectattr('_hidden') | list",
    "[incident] | rejectattr('_hidden') | list",
    "[incident] | sort(attribute='_hidden')",
    "[incident] | unique(attribute='_hidden')",
    "[incident] | max(attribute='_hidden')",
    "[target] | map(attribute='zone.__class__')",
    "'{0.__class__}'.format(n)",
    "'{x.__class__}'.format_map(incident)",
    "'%s' % n",
    "range.function",
    "big.upper.function",
    "range.__call__",
    "range",
    "big.upper",
    "[big.upper]",
    "n.bit_length()",
    "target.parse('a')",
    "target.__slots__",
    "big.encode()",
    "self._TemplateReference__context",
    "joiner",
    "namespace()",
    "n is callable",
    "'upper' is filter",
]


@pytest.mark.parametrize("source", GROWTH)
def test_what_grows_ends_at_once_with_an_error(source: str) -> None:
    with pytest.raises(InvalidInput):
        evaluate(source, NAMES)


@pytest.mark.parametrize("source", DEPTH)
def test_deep_nesting_is_refused(source: str) -> None:
    with pytest.raises(InvalidInput):
        check_expression(source)


@pytest.mark.parametrize("source", PRIVATE)
def test_nothing_leads_behind_the_values(source: str) -> None:
    with pytest.raises(InvalidInput):
        evaluate(source, NAMES)


def test_a_very_long_source_is_refused() -> None:
    with pytest.raises(InvalidInput, match="4096 characters"):
        render("{{ n }}" + " " * 5000, NAMES)


def test_what_one_value_makes_together_is_bounded() -> None:
    with pytest.raises(InvalidInput, match="together"):
        render({str(number): "{{ big }}" for number in range(5)}, NAMES)


@pytest.mark.parametrize("source", ["{# note #}", "a {# b", "{% raw %}x{% endraw %}", "{{ n }}{#- x -#}"])
def test_comments_and_raw_blocks_are_refused(source: str) -> None:
    with pytest.raises(InvalidInput):
        render(source, NAMES)


def test_marks_inside_a_text_are_text() -> None:
    assert render("{{ '{%' }}", NAMES) == "{%"
    assert render("{{ {'a': {'b': 1}} }}", NAMES) == {"a": {"b": 1}}


def test_the_public_data_of_an_object_can_be_read() -> None:
    assert evaluate("target.zone ~ target.level ~ now.year", NAMES) == "zone-azone2026"
    assert evaluate("(now - now).total_seconds()", NAMES) == 0


def test_a_value_that_holds_an_undefined_name_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="nope"):
        evaluate("[nope]", NAMES)


@pytest.mark.parametrize(("name", "offer"), [*FILTERS.items(), *FUNCTIONS.items()])
def test_every_offer_has_an_example_that_parses(name: str, offer: Any) -> None:
    assert name in offer.example
    assert offer.meaning
    check_expression(offer.example)


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("[3, 1] | sort", [1, 3]),
        ("['b', 'a'] | map('upper') | join('-')", "B-A"),
        ("[1, 2, 3] | reject('equalto', 2)", [1, 3]),
        ("[{'a': 1}, {'a': 2}] | selectattr('a', 'gt', 1) | map(attribute='a') | sum", 2),
        ("{'b': 1, 'a': 2} | dictsort", [("a", 2), ("b", 1)]),
        ("missing | default(4)", 4),
        ("[1, 1, 2] | unique", [1, 2]),
        ("'a-b' | replace('-', '_')", "a_b"),
        ("2.345 | round(1)", 2.3),
        ("'abc'[1:]", "bc"),
        ("range(3)", [0, 1, 2]),
        ("{'a': [1]} | tojson", '{"a": [1]}'),
        ("'12' | int + 1", 13),
        ("[1, 2] | last", 2),
        ("{'a': 1}.items()", [("a", 1)]),
        ("4 is divisibleby 2", True),
    ],
)
def test_what_is_offered_works_and_gives_plain_values(source: str, value: object) -> None:
    assert evaluate(source, NAMES) == value


_leaf = st.sampled_from(
    ["n", "big", "many", "incident", "target", "now", "nope", "1", "0", "-3", "10**9", "2.5", "''", "'a'",
     "'_x'", "'__class__'", "'{0.__class__}'", "[]", "{}", "range(9)", "range(10**9)", "true", "none"]
)  # fmt: skip
_operators = st.sampled_from(["+", "-", "*", "**", "/", "//", "%", "~", "==", "<", "in", "and", "or"])
_filters = st.sampled_from([*FILTERS, "attr", "batch", "format", "center"])
_attributes = st.sampled_from(
    ["zone", "_hidden", "__class__", "mro", "function", "format", *sorted(set(sum(METHODS.values(), ())))]
)  # fmt: skip


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, _operators, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, _filters).map(lambda t: f"({t[0]} | {t[1]})"),
        st.tuples(inner, _filters, inner).map(lambda t: f"({t[0]} | {t[1]}({t[2]}))"),
        st.tuples(inner, _filters, inner).map(lambda t: f"({t[0]} | map('{t[1]}', {t[2]}))"),
        st.tuples(inner, _attributes).map(lambda t: f"({t[0]} | map(attribute='{t[1]}'))"),
        st.tuples(inner, st.sampled_from([*TESTS]), inner).map(
            lambda t: f"({t[0]} | select('{t[1]}', {t[2]}))"
        ),
        st.tuples(inner, _attributes).map(lambda t: f"{t[0]}.{t[1]}"),
        st.tuples(inner, _attributes, inner).map(lambda t: f"{t[0]}.{t[1]}({t[2]})"),
        st.tuples(inner, inner).map(lambda t: f"{t[0]}[{t[1]}]"),
        st.tuples(inner, inner).map(lambda t: f"[{t[0]}, {t[1]}]"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})"),
    )


_PLAIN = (str, int, float, bool, type(None), list, tuple, dict, Target, *DATA)


def _parts(value: Any) -> list[Any]:
    inside = (
        [*value, *value.values()]
        if isinstance(value, dict)
        else value
        if isinstance(value, list | tuple)
        else []
    )
    return [value, *(part for each in inside for part in _parts(each))]


@settings(max_examples=60, deadline=None)
@given(st.recursive(_leaf, _grow, max_leaves=8))
def test_random_expressions_are_bounded_and_give_plain_values_only(source: str) -> None:
    try:
        value = evaluate(source, NAMES)
    except InvalidInput:
        return
    assert weigh(value) <= MAX_RESULT + 1 < BUDGET
    assert {type(part) for part in _parts(value)} <= set(_PLAIN)
