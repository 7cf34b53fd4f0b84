"""From YAML files to the revisions that the loop runs on, checked against everything installed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from controlplane.actions import register as register_builtin_actions
from controlplane.actions.schema import Schema, schemas
from controlplane.actions.validate import check_bundle
from controlplane.kernel.errors import Problem
from controlplane.kernel.registry import Registry
from controlplane.kernel.yaml import MAX_BYTES
from controlplane.model.action import Action, ActionRegistry
from controlplane.model.base import Mode
from controlplane.model.documents import Bundle, load_bundle
from controlplane.model.policy import Policy
from controlplane.model.records import Revision
from controlplane.model.rehearsal import PlaybookTest
from controlplane.store.database import Database

SUFFIXES = (".yaml", ".yml")


def action_registry() -> ActionRegistry:
    """Return every action that is installed: our own, chaos's, third parties'."""
    registry: ActionRegistry = Registry[Action[Any]]("action")
    register_builtin_actions(registry)
    registry.load_entry_points("fleetward.actions")
    return registry


def fault_names() -> list[str]:
    """Return the names of the installed fault catalogue."""
    registry: Registry[Any] = Registry("fault")
    registry.load_entry_points("fleetward.faults")
    return registry.names()


def json_schemas() -> dict[str, Schema]:
    """Return the JSON Schema of every kind, with everything that is installed, by its file's name."""
    return schemas(action_registry(), fault_names())


def read_files(paths: Iterable[Path], *, tests: bool = False) -> tuple[list[tuple[str, str]], list[Problem]]:
    """Return (name, text) of the YAML files in ``paths``, sorted, and what could not be read.

    Of a folder ``tests`` too if wanted, and nothing hidden: a ConfigMap that is mounted holds each file
    twice, once in a hidden folder.
    """
    texts: list[tuple[str, str]] = []
    problems: list[Problem] = []
    for path in paths:
        for file in sorted(_inside(path, problems)) if path.is_dir() else [path]:
            if file != path and not tests and file.stem.endswith(".test"):
                continue
            if file != path and file.exists() and not file.is_file():
                problems.append(_unreadable(file, "it is no regular file"))  # a pipe would be waited for
                continue
            try:
                with file.open(encoding="utf-8") as stream:
                    texts.append((str(file), stream.read(MAX_BYTES + 1)))  # a device never ends
            except UnicodeDecodeError as error:
                problems.append(_unreadable(file, f"it is not UTF-8 at byte {error.start}"))
            except OSError as error:
                problems.append(_unreadable(file, error.strerror or str(error)))
    return texts, problems


def _inside(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    def note(error: OSError) -> None:
        problems.append(_unreadable(Path(error.filename), error.strerror or str(error)))

    for parent, folders, files in os.walk(folder, onerror=note):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (
            Path(parent, name) for name in files if not name.startswith(".") and name.endswith(SUFFIXES)
        )


def _unreadable(path: Path, why: str) -> Problem:
    return Problem(str(path), 1, 1, "", f"it cannot be read as text: {why}")


def load_files(paths: Iterable[Path], *, tests: bool = False) -> Bundle:
    """Load and check documents; problems are collected in the bundle, a file that cannot be read too."""
    texts, problems = read_files(paths, tests=tests)
    bundle = check_texts(texts)
    bundle.problems += problems
    return bundle


def check_texts(files: Iterable[tuple[str, str]]) -> Bundle:
    """The same for texts by their files' names, as somebody is editing them."""
    return check_bundle(load_bundle(files), action_registry(), fault_names())


def check_text(file: str, text: str) -> Bundle:
    """The same for one text."""
    return check_texts([(file, text)])


def apply_bundle(database: Database, bundle: Bundle, mode: Mode | None = None) -> list[Revision]:
    """Store every document as the active revision of its name, or none of them.

    A bundle with problems changes nothing, is kept as a visible error, and raised.
    """
    with database.transaction() as tx:
        tx.documents.replace_problems(bundle.problems)
    bundle.raise_problems()
    with database.transaction() as tx:
        revisions = []
        for entry in bundle.loaded:
            model = entry.model
            if isinstance(model, PlaybookTest):
                continue  # it is run where it lies; nothing in the control plane reads it
            if mode is not None and isinstance(model, Policy):
                model = model.model_copy(update={"spec": model.spec.model_copy(update={"mode": mode})})
            sha256 = tx.documents.put(model, source=entry.document.file)
            revisions.append(tx.documents.get(sha256))
    return revisions
