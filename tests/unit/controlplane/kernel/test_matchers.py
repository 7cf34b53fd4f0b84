"""Matchers: read as Alertmanager reads them, refused where its engine would, never slow."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.matchers import all_match, parse_matchers

LABELS = {"alertname": "TargetDown", "zone": "zone-a", "severity": "page"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('alertname="TargetDown"', True),
        ("alertname=TargetDown", True),
        ('alertname = "TargetDown"', True),
        ('{alertname="TargetDown", zone=~"zone-(a|b)"}', True),
        ('alertname="TargetDown",zone="zone-b"', False),
        ('zone=~"zone"', False),
        ('zone=~"zone-."', True),
        ('zone=~"a|zone-a"', True),
        ('zone!~"zone-[bc]"', True),
        ('team=""', True),
        ("team=", True),
        ('team!=""', False),
        ('team=~".*"', True),
        ('team=~".+"', False),
        ('"zone"="zone-a"', True),
        ('severity=~"(?i)PAGE"', True),
    ],
)
def test_matchers_mean_what_they_mean_to_alertmanager(text: str, expected: bool) -> None:
    assert all_match(parse_matchers(text), LABELS) is expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it says nothing"),
        ("{}", "it says nothing"),
        ("alertname", "no label"),
        ('alertname=="x"', "a comma is missing"),
        ('1abc="x"', "no label"),
        ('{alertname="x"', "a brace is missing"),
        ('alertname="x', "a quote is not closed"),
        ('alertname="x" zone="y"', "a comma is missing"),
        ('zone=~"("', "not a regular expression"),
        ('zone=~"(?=a)b"', "not in RE2"),
        ('zone=~"(?<!a)b"', "not in RE2"),
        (r'zone=~"(a)\\1"', "not in RE2"),
        ('zone=~"a++"', "not in RE2"),
        ('zone=~"(a+)+b"', "holds a repetition"),
        ('zone=~"(a|aa)*b"', "holds a repetition"),
        ('zone=~"((a*)b?)*"', "holds a repetition"),
        ('zone=~"' + "a" * 501 + '"', "longer than 500"),
    ],
)
def test_what_is_no_matcher_is_refused_with_what_would_be(text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(words)) as caught:
        parse_matchers(text)
    assert "alertname=" in str(caught.value.hint)


VALUES = st.text('ab .-|*+?()[]{}^$\\"\n=!~,é@', max_size=30)


@given(value=VALUES, other=VALUES, operator=st.sampled_from(["=", "!="]))
def test_a_matcher_that_is_written_out_reads_back_the_same(value: str, other: str, operator: str) -> None:
    (made,) = parse_matchers(f'zone{operator}"{_escaped(value)}"')
    assert made.value == value
    assert parse_matchers(str(made)) == [made]
    assert made.matches({"zone": other}) is ((value == other) is (operator == "="))


@given(value=VALUES, literal=VALUES)
def test_a_pattern_is_held_against_the_whole_value(value: str, literal: str) -> None:
    (made,) = parse_matchers(f'zone=~"{_escaped(re.escape(literal))}"')
    assert made.matches({"zone": value}) is (value == literal)


@given(st.text('ab "\\{}=!~,|()*+?[]\n1é', max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = parse_matchers(text)
    except InvalidInput:
        return
    assert found


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
