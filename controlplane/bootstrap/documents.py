"""From YAML files to the revisions that the loop runs on, checked against everything installed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from controlplane.actions import register as register_builtin_actions
from controlplane.actions.schema import Schema, schemas
from controlplane.actions.validate import check_bundle
from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.registry import Registry
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


def read_files(paths: Iterable[Path], *, tests: bool = False) -> list[tuple[str, str]]:
    """Return (name, text) of the YAML files in ``paths``, sorted; of a folder ``tests`` too if wanted."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        found += [
            file
            for file in inside
            if file == path or (file.suffix in SUFFIXES and (tests or not file.stem.endswith(".test")))
        ]
    texts = []
    for file in found:
        try:
            texts.append((str(file), file.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            msg = f"{file} cannot be read as text: {error}"
            raise InvalidInput(msg) from error
    return texts


def load_files(paths: Iterable[Path], *, tests: bool = False) -> Bundle:
    """Load and check documents; problems are collected in the bundle."""
    return check_texts(read_files(paths, tests=tests))


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
