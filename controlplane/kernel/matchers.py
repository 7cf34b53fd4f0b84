"""Alertmanager's matchers: ``alertname="TargetDown"``, ``zone=~"a|b"``, ``team!=""``.

A label that is not there is empty text; a regular expression must match the whole value, as
in Alertmanager. What its engine (RE2) does not know is refused, and so is the repetition of
a repetition, which takes Python's engine exponential time where RE2 needs linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from controlplane.kernel.errors import InvalidInput

Operator = Literal["=", "!=", "=~", "!~"]

MAX_PATTERN = 500
_HINT = 'write for example `alertname="TargetDown"` or `zone=~"zone-a|zone-b"`'
_NAME = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)+)"|([a-zA-Z_:][a-zA-Z0-9_:]*))\s*(=~|!~|!=|=)\s*""")
_QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"\s*')
_BARE = re.compile(r"""([^\s"',{}=!~]*)\s*""")
_FOREIGN = re.compile(r"\(\?[=!>#(]|\(\?<[=!]|\\[1-9]|\(\?P=|[*+?}]\+")
"""Lookaround, atomic groups, conditions, references back, possessive repetition: not in RE2."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on one label."""

    name: str
    operator: Operator
    value: str
    pattern: re.Pattern[str] | None = None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Tell whether the labels fulfil it."""
        value = labels.get(self.name, "")
        equal = value == self.value if self.pattern is None else self.pattern.fullmatch(value) is not None
        return equal is (self.operator in {"=", "=~"})

    def __str__(self) -> str:
        text = self.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'{self.name}{self.operator}"{text}"'


def all_match(matchers: Iterable[Matcher], labels: Mapping[str, str]) -> bool:
    """Tell whether the labels fulfil every matcher."""
    return all(matcher.matches(labels) for matcher in matchers)


def parse_matchers(text: str) -> list[Matcher]:
    """Read one matcher, or several with commas between and perhaps braces around."""
    inner = text.strip()
    if inner.startswith("{") != inner.endswith("}"):
        raise _wrong(text, "a brace is missing")
    inner = inner.removeprefix("{").removesuffix("}").strip()
    if not inner:
        raise _wrong(text, "it says nothing")
    found, at = [], 0
    while at < len(inner):
        matcher, at = _one(text, inner, at)
        found.append(matcher)
        if at < len(inner):
            if inner[at] != ",":
                raise _wrong(text, f"a comma is missing before `{inner[at : at + 20]}`")
            at += 1
    return found


def _one(text: str, inner: str, at: int) -> tuple[Matcher, int]:
    head = _NAME.match(inner, at)
    if head is None:
        raise _wrong(text, "there is no label with =, !=, =~ or !~ after it")
    name = _unescape(head.group(1)) if head.group(1) is not None else head.group(2)
    tail = _QUOTED.match(inner, head.end())
    if tail is None and inner[head.end() : head.end() + 1] == '"':
        raise _wrong(text, "a quote is not closed")
    quoted = tail is not None
    tail = tail or _BARE.match(inner, head.end())
    assert tail is not None, "a bare value may be empty"  # noqa: S101
    value = _unescape(tail.group(1)) if quoted else tail.group(1)
    operator = cast("Operator", head.group(3))
    pattern = _compile(text, value) if operator in {"=~", "!~"} else None
    return Matcher(name, operator, value, pattern), tail.end()


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found.group(1), found.group(0)), text, flags=re.DOTALL)


def _compile(text: str, pattern: str) -> re.Pattern[str]:
    if len(pattern) > MAX_PATTERN:
        raise _wrong(text, f"the regular expression is longer than {MAX_PATTERN} characters")
    foreign = _FOREIGN.search(_literals_out(pattern))
    if foreign:
        raise _wrong(text, f"`{foreign.group(0)}` is not in RE2's regular expressions")
    if _repeats_a_repetition(pattern):
        raise _wrong(text, "a repeated group holds a repetition: write it without the inner one")
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        raise _wrong(text, f"not a regular expression: {error}") from error


def _literals_out(pattern: str) -> str:
    """Return the pattern with escaped characters and classes made harmless; references stay."""
    plain = re.sub(r"\\[^1-9]", "x", pattern, flags=re.DOTALL)
    return re.sub(r"\[\^?\]?[^\]]*\]", "x", plain)


def _repeats_a_repetition(pattern: str) -> bool:
    """Tell whether a group that is repeated without bound holds such a repetition or an alternative."""
    plain = re.sub(r"\{(\d+)\}", "", _literals_out(pattern).replace("(?:", "("))
    open_groups = [False]
    for index, char in enumerate(plain):
        if char == "(":
            open_groups.append(False)
        elif char == ")" and len(open_groups) > 1:
            risky = open_groups.pop()
            repeated = plain[index + 1 : index + 2] in {"*", "+", "{"}
            if risky and repeated:
                return True
            open_groups[-1] = open_groups[-1] or risky or repeated
        elif char in "*+{|":
            open_groups[-1] = True
    return False


def _wrong(text: str, why: str) -> InvalidInput:
    return InvalidInput(f"`{text}` is no matcher: {why}", hint=_HINT)
