"""PromQL of other tools as queries of ours: fixed ranges and bare counters become `{{ window }}`.

It changes only what it is sure of: a range, a counter by itself, a sum of one. Anything else is
refused with the reason, since a query that is nearly right is wrong at 3 a.m.
"""

from __future__ import annotations

import re

from controlplane.kernel.yaml import Path
from controlplane.observe.importers.reading import Unmapped

WINDOW = "{{ window }}"
_GO_WINDOW = re.compile(r"\{\{-?\s*\.window\s*-?\}\}")
_RANGE = re.compile(r"\[([0-9a-z]+)\]")
_SELECTOR = r"[a-zA-Z_:][\w:]*(?:\{(?:[^{}\"']|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')*\})?"
_BARE = re.compile(rf"^\s*({_SELECTOR})\s*$")
_SUM = re.compile(rf"^\s*(sum(?:\s*(?:by|without)\s*\([^)]*\))?)\s*\(\s*({_SELECTOR})\s*\)\s*$")
_TEXT = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|`[^`]*`')


def from_go(text: str, path: Path) -> str:
    """Return a query with Go's ``{{.window}}`` in our words."""
    made = _GO_WINDOW.sub(WINDOW, text).strip()
    if WINDOW not in made:
        raise Unmapped(path, "the query has no `{{.window}}`: its range would be the same for every window")
    if "{{" in made.replace(WINDOW, ""):
        raise Unmapped(path, "the query has other templates than `{{.window}}`")
    return made


def of_counter(text: str, path: Path, over: str = "rate") -> str:
    """Return a counter's query with a range: its own, or one around the selector."""
    ranges = set(_RANGE.findall(_TEXT.sub('""', text)))
    if len(ranges) == 1:
        return _RANGE.sub(f"[{WINDOW}]", text).strip()
    if ranges:
        raise Unmapped(path, f"the query has several ranges: {', '.join(sorted(ranges))}")
    bare, added = _BARE.match(text), _SUM.match(text)
    if bare:
        return f"sum({over}({bare.group(1)}[{WINDOW}]))"
    if added:
        head = added.group(1) if added.group(1) == "sum" else f"{added.group(1)} "
        return f"{head}({over}({added.group(2)}[{WINDOW}]))"
    raise Unmapped(path, "only a counter, or the sum of one, can be given a range: rate before sum")


def over_time(text: str) -> str:
    """Return the mean of an expression over the window, asked each minute."""
    return f"avg_over_time(({text.strip()})[{WINDOW}:1m])"


def added_up(selector: str, by: list[str], over: str = "rate") -> str:
    """Return a selector's sum over its series."""
    head = f"sum by ({', '.join(by)}) " if by else "sum"
    return f"{head}({over}({selector.strip()}[{WINDOW}]))"


def divided(text: str) -> tuple[str, str] | None:
    """Return both sides of the one division that an expression is, None if it is none."""
    depth, cuts, quoted = 0, [], _TEXT.sub(lambda found: "_" * len(found.group()), text)
    for index, sign in enumerate(quoted):
        depth += (sign in "([{") - (sign in ")]}")
        if depth == 0 and sign == "/":
            cuts.append(index)
    if len(cuts) != 1:
        return None
    return text[: cuts[0]].strip(), text[cuts[0] + 1 :].strip()
