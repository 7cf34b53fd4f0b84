"""The project's own files, as the house rules look at them. Reads, and never writes."""

import ast
import io
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("controlplane", "chaos", "tests")
_NOT_OURS = frozenset({
    ".fleetward", ".git", ".make", ".node", ".uv", ".venv", "__pycache__", "build", "dist", "node_modules",
    ".hypothesis", ".import_linter_cache", ".mypy_cache", ".pytest_cache", ".ruff_cache",
})  # fmt: skip


@dataclass(frozen=True)
class Source:
    """One Python module: its path from the root with slashes, text, syntax tree, and comments by line."""

    path: str
    text: str
    tree: ast.Module
    comments: Mapping[int, str]

    @classmethod
    def parse(cls, path: str, text: str) -> "Source":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        comments = {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}
        return cls(path, text, ast.parse(text, path), comments)


@cache
def sources() -> tuple[Source, ...]:
    """Return every Python module of the packages and the tests."""
    return tuple(
        Source.parse(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
        for package in PACKAGES
        for path in _files(ROOT / package)
        if path.suffix == ".py"
    )


@cache
def texts() -> tuple[tuple[str, str], ...]:
    """Return path and text of every text file of the project; binary files are left out."""
    found = []
    for path in _files(ROOT):
        try:
            found.append((path.relative_to(ROOT).as_posix(), path.read_text("utf-8")))
        except UnicodeDecodeError:
            continue
    return tuple(found)


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name in _NOT_OURS or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path
