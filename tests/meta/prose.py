"""The house rules for every text file: nothing that ties the project to one machine, mirror or desk.

Names that no file may hold are put together from parts here, so that this file keeps its own rules.
"""

import re
from collections.abc import Callable, Iterator

from tests.meta.house import Finding

_REGISTRIES = [
    (r"pypi", r"org"), (r"pythonhosted", r"org"), (r"npmjs", r"(org|com)"), (r"yarnpkg", r"com"),
    (r"crates", r"io"), (r"golang", r"org"), (r"maven", r"org"), (r"debian", r"org/debian"),
]  # fmt: skip
_REGISTRY = re.compile("|".join(rf"\b{name}\.{end}\b" for name, end in _REGISTRIES))

_HOMES = ["root", "home/[a-z_]+", "Users/[A-Za-z_.]+", "work", "workspace"]
_MACHINE_PATH = re.compile("|".join(rf"(?<![\w.~$}}/*-])/{home}/[\w.-]" for home in _HOMES))

_DESK_WORDS = [
    ("TO", "DO"), ("FIX", "ME"), ("XX", "X"), ("co-authored", "-by"), ("gene", "rated with"), ("clau", "de"),
    ("chat", "gpt"), ("co", "pilot"), ("sub-?", "agent"), ("issue ", r"#\d"),
]  # fmt: skip
_DESK = re.compile("|".join(rf"\b{start}{end}\b" for start, end in _DESK_WORDS), re.IGNORECASE)

_URL = re.compile(r"[a-z+]+://")

LOCK_FILES = frozenset({"requirements.lock", "scripts/uv.lock", "scripts/node.lock", "web/package-lock.json"})


def no_registry_host(path: str, text: str) -> Iterator[Finding]:
    """No file names the host of a package registry: it is the client's setting."""
    yield from _matches(_REGISTRY, path, text, "names a package registry")


def no_machine_path(path: str, text: str) -> Iterator[Finding]:
    """No file names a folder of somebody's machine."""
    yield from _matches(_MACHINE_PATH, path, text, "a path of one machine")


def no_desk_words(path: str, text: str) -> Iterator[Finding]:
    """No file speaks of how it came to be, or of what is still to be done."""
    if path not in LOCK_FILES:
        yield from _matches(_DESK, path, text, "speaks of the desk, not of the project")


def no_address_in_lock_file(path: str, text: str) -> Iterator[Finding]:
    """A lock file has hashes and no download addresses; a link to a package's funding is none."""
    if path in LOCK_FILES:
        for finding in _matches(_URL, path, text, "an address"):
            line = text.splitlines()[finding.line - 1]
            if not re.fullmatch(r'\s*("url": )?"https://[^"]*",?', line):
                yield finding


RULES: tuple[Callable[[str, str], Iterator[Finding]], ...] = (
    no_registry_host,
    no_machine_path,
    no_desk_words,
    no_address_in_lock_file,
)


def _matches(pattern: re.Pattern[str], path: str, text: str, what: str) -> Iterator[Finding]:
    for number, line in enumerate(text.splitlines(), 1):
        found = pattern.search(line)
        if found:
            yield Finding(path, number, f"{what}: {found.group()}")
