"""Which names the expressions of a value read: of `steps.headroom.outputs.ratio`, the step `headroom`.

It evaluates nothing, so that a preview can say what a value depends on. Functions of the
language are no names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jinja2 import TemplateSyntaxError

from controlplane.kernel.filters import ENVIRONMENT, FUNCTIONS
from controlplane.kernel.templating import references


def reads(source: Any, *, bare: bool = False) -> set[tuple[str, ...]]:
    """Return the paths that are read; ``bare``: ``source`` is one expression, without braces.

    What is chosen by a value ends the path: `steps[name]` reads ``("steps",)``.
    """
    return {path for text in _texts(source) for path in _read(text, bare=bare) if path[0] not in FUNCTIONS}


def _read(text: str, *, bare: bool) -> Iterator[tuple[str, ...]]:
    try:
        yield from references(ENVIRONMENT.parse("{{ " + text + " }}" if bare else text))
    except TemplateSyntaxError:
        return


def _texts(source: Any) -> Iterator[str]:
    if isinstance(source, str):
        yield source
    elif isinstance(source, Mapping):
        for value in source.values():
            yield from _texts(value)
    elif isinstance(source, list | tuple):
        for item in source:
            yield from _texts(item)
