"""The reference pages, made from the code: kinds and actions from their schemas, the language, the states.

Pure text from what it is given; `controlplane.bootstrap.reference` writes and checks the files.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from controlplane.actions.schema import Schema, parameters_of, summary, tidied
from controlplane.actions.semantics import CHECKS
from controlplane.kernel import filters, sandbox, templating
from controlplane.model import vocabulary
from controlplane.model.action import Action, Reach
from controlplane.model.states import FAULT_MOVES, INCIDENT_MOVES, RUN_MOVES, STEP_MOVES

NOTE = "<!-- Made by `python -m controlplane.bootstrap.reference --write`; do not edit. -->"

_PATTERNS = {
    "(ms|s|m|h|d|w)": "duration",
    "%?$": "quantity",
    r"\s*%$": "per cent",
    r"\{\{": "",
    "^[a-z0-9]": "name",
}


def kind_page(schema: Schema, example: str) -> str:
    """Return the page of one kind: an example, then every field."""
    spec = schema["properties"]["spec"]["$ref"].rsplit("/", 1)[1]
    shown = [name for name in _reached(schema, spec) if name != "Metadata"]
    parts = [f"# {schema['title']}", NOTE, schema["description"], _yaml(example), _ENVELOPE]
    for name in shown:
        definition = schema["$defs"][name]
        heading = "spec" if name == spec else name
        text = definition.get("description", "")
        parts += [f"## {heading}", *([text] if text else []), *_fields(definition, own=name)]
    return _page(parts)


_ENVELOPE = (
    "Every document has `apiVersion: fleetward.dev/v1`, `kind`, `metadata` (`name`, `labels`, `annotations`) "
    "and `spec`. Unknown keys are errors. `fleetward schema` writes the same as JSON Schema, for editors."
)


def actions_page(actions: Iterable[Action[Any]]) -> str:
    """Return the page of all actions: what each declares, and its documentation."""
    actions = list(actions)
    rows = [f"| [`{a.name}`](#{a.name.replace('.', '')}) | {summary(a)} |" for a in actions]
    parts = ["# Actions", NOTE, "What a step can do: `uses` names the action, `with` gives its parameters."]
    parts.append("\n".join(["| action | what it does |", "| --- | --- |", *rows]))
    for action in actions:
        parts += _action(action)
    return _page(parts)


def _action(action: Action[Any]) -> Iterator[str]:
    schema, inner = parameters_of(action)
    yield f"## `{action.name}`"
    yield inspect.cleandoc(type(action).__doc__ or "")
    yield "Parameters:"
    yield from _fields(tidied(schema))
    for name, definition in inner.items():
        yield f"`{name.partition(' ')[2]}`:"
        yield from _fields(tidied(definition))
    if action.outputs:
        rows = [f"| `{name}` | {meaning} |" for name, meaning in action.outputs.items()]
        yield "Outputs:"
        yield "\n".join(["| name | meaning |", "| --- | --- |", *rows])
    judged = type(action).touches is not Action.touches
    facts = {
        "can be taken back": _yes(action.reversible),
        "twice is as once": _yes(action.idempotent)
        if action.idempotent
        else "no: it is looked for before a retry",
        "judged by the blast radius": _yes(judged),
        "to the fleet, at most": _REACH[action.reach],
        "Kubernetes permissions": ", ".join(f"`{each}`" for each in action.permissions) or "none",
    }
    yield "\n".join(f"- {name}: {value}" for name, value in facts.items())


_REACH = {
    Reach.NONE: "nothing: it looks, tells people, asks them or stops automation; so it may run without sight",
    Reach.SERVING: "changes it, and everything that serves goes on serving",
    Reach.OUT: "may take something out of service",
}


def expressions_page() -> str:
    """Return the page of the expression language: every name, filter, test, function and method."""
    parts = ["# Expressions", NOTE, _LANGUAGE, "## Names", _table("name", vocabulary.NAMES)]
    for title, names in (
        ("incident", vocabulary.INCIDENT),
        ("limits", vocabulary.LIMITS),
        ("run", vocabulary.RUN),
        ("steps.ID", vocabulary.STEP),
        ("outputs of a step with forEach", vocabulary.LOOP_OUTPUTS),
    ):
        parts += [f"### {title}", _table("field", names)]
    service = sorted(name for name in vocabulary.trigger_names({})["service"])
    parts += [
        "### service",
        f"Fields: {', '.join(f'`{name}`' for name in service)}; see [Service](service.md).",
    ]
    for title, offers in (
        ("Filters", filters.FILTERS),
        ("Tests", filters.TESTS),
        ("Functions", filters.FUNCTIONS),
    ):
        rows = [
            f"| `{n}` | {o.meaning} | `{o.example.replace('|', chr(92) + '|')}` |" for n, o in offers.items()
        ]
        parts += [f"## {title}", "\n".join(["| name | meaning | example |", "| --- | --- | --- |", *rows])]
    methods = {kind.__name__: ", ".join(f"`{m}`" for m in names) for kind, names in sandbox.METHODS.items()}
    data = {kind.__name__: ", ".join(f"`{m}`" for m in names) for kind, names in sandbox.DATA.items()}
    parts += ["## Methods", _table("of a", methods), "## Data of times", _table("of a", data)]
    return _page(parts)


_LANGUAGE = f"""\
Jinja2, sandboxed. Conditions (`when`, `if`, `successCondition`, `items`) are bare expressions;
other texts hold expressions in `{{{{ }}}}`. A lone `{{{{ }}}}` keeps its type (a number stays a
number, a list a list), and a text is never parsed again; anything else becomes text. There are no
statements and no comments; for the marks themselves write `{{{{ '{{%' }}}}`.

An undefined name is an error, when the file is loaded if it can be known, else when the step runs.
Names that start with an underscore are out of reach. What an expression may cost is bounded: its
source {templating.MAX_SOURCE} characters, nested {templating.MAX_DEPTH} deep; each value
{sandbox.MAX_RESULT >> 10} KiB (a text its bytes in UTF-8, anything else one for each thing it
holds); all that it makes on the way {sandbox.BUDGET >> 10} KiB; whole numbers {sandbox.MAX_BITS}
bits.

Arithmetic `+ - * / // % **`, text `~`, comparison `== != < <= > >= in`, logic `and or not`, choice
`a if b else c`, parts `x.y x['y'] x[0] x[1:]`, lists `[1, 2]`, maps `{{'a': 1}}`."""


def states_page() -> str:
    """Return the page of states, with one diagram per kind of thing."""
    parts = [
        "# States",
        NOTE,
        "The moves that are allowed; every change of a state goes through these tables.",
    ]
    tables: tuple[tuple[str, Mapping[Any, Any]], ...] = (
        ("Runs", RUN_MOVES),
        ("Steps", STEP_MOVES),
        ("Incidents", INCIDENT_MOVES),
        ("Faults", FAULT_MOVES),
    )
    for title, moves in tables:
        parts += [f"## {title}", _diagram(moves)]
    return _page(parts)


def _diagram(moves: Mapping[StrEnum, Iterable[StrEnum]]) -> str:
    order = list(moves)
    lines = [f"    [*] --> {order[0]}"]
    for old, targets in moves.items():
        lines += [f"    {old} --> {new}" for new in sorted(targets, key=order.index)]
        lines += [f"    {old} --> [*]"] if not targets else []
    return "\n".join(["```mermaid", "stateDiagram-v2", *lines, "```"])


def checks_page() -> str:
    """Return the page of the checks that look at documents together, by their codes."""
    rows = [f"| `{code}` | {severity} | {_cell(what)} |" for code, (severity, what) in CHECKS.items()]
    text = (
        "What `fleetward validate` finds in documents that are well-formed. Errors make a file invalid; "
        "warnings are told. Mistakes in the form of a document (unknown keys, wrong values, unknown names) "
        "have no code."
    )
    return _page(
        [
            "# Checks",
            NOTE,
            text,
            "\n".join(["| code | severity | what it finds |", "| --- | --- | --- |", *rows]),
        ]
    )


def index_page(pages: Iterable[tuple[str, str]]) -> str:
    """Return the list of pages: (file, what it tells)."""
    rows = [f"| [{file}]({file}) | {what} |" for file, what in pages]
    return _page(["# Reference", NOTE, "\n".join(["| page | what it tells |", "| --- | --- |", *rows])])


def _fields(definition: Schema, own: str = "") -> list[str]:
    rows = []
    needed = definition.get("required", [])
    for name, field in definition.get("properties", {}).items():
        if own == "Step" and name == "with":
            kind = "map: the [action's parameters](actions.md)"
        elif own == "Step" and name == "uses":
            kind = "the name of an [action](actions.md)"
        else:
            kind = type_of(field)
        default = "needed" if name in needed else _default(field)
        rows.append(f"| `{name}` | {kind} | {default} | {_cell(field.get('description', ''))} |")
    head = ["| field | value | default | meaning |", "| --- | --- | --- | --- |"]
    return ["\n".join([*head, *rows])] if rows else []


def type_of(field: Schema) -> str:
    """Say in words what a schema takes."""
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        shown = name.rpartition(" ")[2]
        return f"`{shown}`" if " " in name else f"[{name}](#{name.lower()})"
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    for key in ("anyOf", "oneOf"):
        if key in field:
            options = [type_of(option) for option in field[key] if option.get("type") != "null"]
            named = [option for option in dict.fromkeys(options) if option]
            return " or ".join(option for option in named if not ("duration" in named and option == "`0`"))
    match field.get("type"):
        case "array" if isinstance(field.get("items"), dict):
            return f"list of {type_of(field['items'])}"
        case "object" if isinstance(field.get("additionalProperties"), dict):
            return f"map to {type_of(field['additionalProperties'])}"
        case "string" if "pattern" in field:
            return next((word for mark, word in _PATTERNS.items() if mark in field["pattern"]), "text")
    words = {"string": "text", "object": "map", "array": "list"}
    return words.get(str(field.get("type")), str(field.get("type", "anything")))


def _default(field: Schema) -> str:
    value = field.get("default")
    if value in (None, "", [], {}) or isinstance(value, dict):
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"`{text.lower() if isinstance(value, bool) else text}`"


def _reached(schema: Schema, name: str) -> Iterator[str]:
    """Yield a definition and those that it leads to, in the order of the fields."""
    seen: list[str] = [name]
    for found in seen:
        yield found
        for other in _refs(schema["$defs"][found].get("properties", {})):
            if other not in seen and " " not in other:
                seen.append(other)


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"].rsplit("/", 1)[1]
        for part in value.values():
            yield from _refs(part)
    elif isinstance(value, list):
        for part in value:
            yield from _refs(part)


def _table(head: str, meanings: Mapping[str, str]) -> str:
    rows = [f"| `{name}` | {_cell(meaning)} |" for name, meaning in meanings.items()]
    return "\n".join([f"| {head} | meaning |", "| --- | --- |", *rows])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _yes(value: bool) -> str:  # noqa: FBT001 - one fact, one word
    return "yes" if value else "no"


def _yaml(text: str) -> str:
    return f"```yaml\n{text.strip()}\n```"


def _page(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"
