"""The reference page of levers: by indicator what can be done, and what speaks for and against each.

Text from the data; `controlplane.bootstrap.reference` writes and checks the file.
"""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.bootstrap.engines_page import NOTE
from controlplane.decide.levers import Aim, Book, Lever
from controlplane.observe.library import INDICATORS

_INTRODUCTION = """\
What the field knows to do about the indicators of a token service. `fleetward advise SERVICE` and
`GET /api/v1/services/{name}/advice` hold it against what is measured of a service: a rule that holds
speaks for a lever or against it; one whose value the engine does not export is unknown, and speaks
neither way. An SLO says when an indicator is off its target; where there is none, the bound below does."""


def levers_page(book: Book) -> str:
    """Return the page."""
    parts = ["# Levers", NOTE, _INTRODUCTION, "## Indicators", _aims(book), "## What can be done"]
    for lever in book.levers:
        parts += _lever(lever, book)
    parts += ["## Values that rules compare", _values(book)]
    return "\n\n".join(parts) + "\n"


def _aims(book: Book) -> str:
    rows = [
        f"| `{aim.name}` | {_bound(aim)} | {', '.join(lever.title for lever in book.of(aim.name))} |"
        for aim in book.indicators
    ]
    return "\n".join(["| indicator | off when no SLO says so | levers |", "| --- | --- | --- |", *rows])


def _bound(aim: Aim) -> str:
    if aim.no_bound:
        return f"no bound: {aim.no_bound}"
    limit, sign = (aim.above, ">") if aim.above is not None else (aim.below, "<")
    return f"`{aim.value}` {sign} {_limit(limit)}"


def _lever(lever: Lever, book: Book) -> Iterator[str]:
    yield f"### {lever.title}"
    helps = ", ".join(f"`{name}`" for name in lever.for_)
    done = [f"playbook `{lever.playbook}`"] if lever.playbook else []
    done += [lever.by_hand] if lever.by_hand else []
    yield f"It {lever.does}. It helps {helps}. Done by {'; '.join(done)}."
    rows = [
        f"| {each.says} | {' and '.join(_rule(c.value, c.above, c.below) for c in each.all)} | {each.why} |"
        for each in lever.evidence
    ]
    yield "\n".join(["| | when | since |", "| --- | --- | --- |", *rows])
    found = [book.sources[name] for name in lever.sources]
    yield f"Shown in {'; '.join(f'[{each.title}]({each.at})' for each in found)}."


def _rule(value: str, above: object, below: object) -> str:
    return f"`{value}` > {_limit(above)}" if above is not None else f"`{value}` < {_limit(below)}"


def _limit(limit: object) -> str:
    return f"{limit:g}" if isinstance(limit, int | float) else f"`{limit}`"


def _values(book: Book) -> str:
    names = {condition.value for lever in book.levers for each in lever.evidence for condition in each.all}
    rows = [
        f"| `{name}` | {INDICATORS[name].formula} | {INDICATORS[name].unit} |"
        for name in sorted(names | {aim.value for aim in book.indicators})
    ]
    return "\n".join(["| value | formula | unit |", "| --- | --- | --- |", *rows])
