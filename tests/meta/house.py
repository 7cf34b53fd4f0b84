"""The house rules for Python, each a function from a module to its findings.

A line that must break a rule says so, with the reason: ``# house: wall-clock - the peer wants unix time``.
An escape without a reason is not one. Sizes and docstrings have no escape.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.meta.tree import Source

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 50

CLOCK_MODULE = "controlplane/kernel/clock.py"
TRANSITION_MODULES = frozenset({"controlplane/store/transitions.py"})
"""Where a state may be written. One entry; a second needs a decision in docs/decisions."""

_STATES_OF_OURS = ("controlplane/", "chaos/drills/")
_STATES_OF_OTHERS = ("controlplane/platforms/",)  # a replica's state is its platform's, not one of ours
_MIGRATIONS = "controlplane/store/migrations/versions/"
_REAL_TIME_TESTS = ("tests/integration/", "tests/e2e/", "tests/support/")
_WALL_CLOCK = frozenset({
    "datetime.date.today", "datetime.datetime.now", "datetime.datetime.today", "datetime.datetime.utcnow",
    "time.monotonic", "time.monotonic_ns", "time.sleep", "time.time", "time.time_ns",
})  # fmt: skip
_STATE_COPIES = frozenset({"replace", "model_copy"})
_ESCAPE = re.compile(r"# house: (wall-clock|state) - \S+ \S+")
_SQL_STATE = re.compile(r"\bset\s+state\s*=", re.IGNORECASE)

Functions = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Finding:
    """One break of a rule."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def module_size(source: Source) -> Iterator[Finding]:
    """A module has at most 400 lines."""
    lines = len(source.text.splitlines())
    if lines > MAX_MODULE_LINES:
        yield Finding(source.path, 1, f"{lines} lines; at most {MAX_MODULE_LINES}")


def function_size(source: Source) -> Iterator[Finding]:
    """A function has at most 50 lines, its docstring not counted; a migration is as long as its schema."""
    if source.path.startswith(_MIGRATIONS):
        return
    for node in ast.walk(source.tree):
        if isinstance(node, Functions):
            lines = _end(node) - node.lineno + 1 - _docstring_lines(node)
            if lines > MAX_FUNCTION_LINES:
                yield Finding(
                    source.path, node.lineno, f"{node.name}: {lines} lines; at most {MAX_FUNCTION_LINES}"
                )


def module_docstring(source: Source) -> Iterator[Finding]:
    """A module opens by saying what it solves; an empty file need not."""
    if source.tree.body and not ast.get_docstring(source.tree):
        yield Finding(source.path, 1, "no docstring: what does it solve, and what does it refuse to do?")


def bare_except(source: Source) -> Iterator[Finding]:
    """An ``except`` names what it catches."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler) and node.type is None:
            yield Finding(source.path, node.lineno, "bare except")


def wall_clock(source: Source) -> Iterator[Finding]:
    """Time comes from the injected clock; a test waits for nothing, unless it drives real processes."""
    if source.path == CLOCK_MODULE or source.path.startswith(_REAL_TIME_TESTS):
        return
    names = _imported_names(source.tree)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
            full = _dotted(node, names)
            if full in _WALL_CLOCK and not _escaped(source, node.lineno, "wall-clock"):
                yield Finding(source.path, node.lineno, f"{full}: use the injected Clock")


def state_assignment(source: Source) -> Iterator[Finding]:
    """A state moves in the transition function, nowhere else; a new row may be born with one."""
    ours = source.path.startswith(_STATES_OF_OURS) and not source.path.startswith(_STATES_OF_OTHERS)
    if not ours or source.path in TRANSITION_MODULES:
        return
    for node in ast.walk(source.tree):
        what = _writes_state(node)
        line = getattr(node, "lineno", 0)
        if what and not _escaped(source, line, "state"):
            yield Finding(source.path, line, f"{what}: states move in {min(TRANSITION_MODULES)}")


def escape_without_reason(source: Source) -> Iterator[Finding]:
    """An escape says which rule, and why."""
    for line, comment in source.comments.items():
        if "house:" in comment and not _ESCAPE.search(comment):
            yield Finding(
                source.path, line, "write `# house: wall-clock - the reason`, or `state` for the rule"
            )


RULES: tuple[Callable[[Source], Iterator[Finding]], ...] = (
    module_size,
    function_size,
    module_docstring,
    bare_except,
    wall_clock,
    state_assignment,
    escape_without_reason,
)


def _writes_state(node: ast.AST) -> str | None:
    match node:
        case ast.Assign(targets=targets) if any(_is_state(target) for target in targets):
            return "assignment to .state"
        case ast.AnnAssign(target=target, value=ast.expr()) if _is_state(target):
            return "assignment to .state"
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value="state"), *_]):
            return "setattr of state"
        case ast.Call(func=ast.Attribute(attr="values", value=chain)) if _passed_state(node):
            return None if _has_call(chain, "insert") else ".values(state=…) of an update"
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _STATE_COPIES:
            return f"{name} of state" if _names_state(_passed_state(node)) else None
        case ast.Constant(value=str(text)) if _SQL_STATE.search(text):
            return "SQL that sets state"
    return None


def _is_state(target: ast.AST) -> bool:
    if isinstance(target, ast.Tuple | ast.List):
        return any(_is_state(part) for part in target.elts)
    return isinstance(target, ast.Attribute) and target.attr == "state"


def _passed_state(call: ast.Call) -> ast.expr | None:
    """Return what a call passes as ``state``, by keyword or as a key of a dict that it passes."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if "state" in keywords:
        return keywords["state"]
    for passed in (*call.args, *keywords.values()):
        if isinstance(passed, ast.Dict):
            for key, value in zip(passed.keys, passed.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "state":
                    return value
    return None


def _names_state(value: ast.expr | None) -> bool:
    """Tell whether an expression is a state's name, ``RunState.FAILED`` or its text, not just any value."""
    match value:
        case ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name.endswith("State")
        case ast.Constant(value=str()):
            return True
    return False


def _has_call(chain: ast.AST, name: str) -> bool:
    """Tell whether a call of ``name`` stands in a chain such as ``insert(table).returning(…)``."""
    calls = (node.func for node in ast.walk(chain) if isinstance(node, ast.Call))
    return any(getattr(func, "id", getattr(func, "attr", "")) == name for func in calls)


def _imported_names(tree: ast.Module) -> dict[str, str]:
    """Map each imported name of a module to what it stands for."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                root = alias.name.partition(".")[0]
                names[alias.asname or root] = alias.name if alias.asname else root
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def _dotted(node: ast.expr, names: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value, names)
        return f"{base}.{node.attr}" if base else None
    return None


def _escaped(source: Source, line: int, rule: str) -> bool:
    return f"# house: {rule} - " in source.comments.get(line, "")


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _docstring_lines(node: Functions) -> int:
    if ast.get_docstring(node, clean=False) is None:
        return 0
    return _end(node.body[0]) - node.body[0].lineno + 1
