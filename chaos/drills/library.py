"""Where drills come from: a file, the revision in force, or the shipped catalogue, in this order."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.kernel.registry import did_you_mean
from controlplane.model.documents import load_bundle
from controlplane.model.drill import Drill
from controlplane.store.transaction import Transaction

SUFFIXES = {".yaml", ".yml"}


def shipped_drills() -> dict[str, Drill]:
    """Return the drills of the catalogue, by name."""
    folder = files("chaos") / "catalog"
    texts = [
        (entry.name, entry.read_text("utf-8")) for entry in sorted(folder.iterdir(), key=lambda e: e.name)
    ]
    bundle = load_bundle((name, text) for name, text in texts if Path(name).suffix in SUFFIXES)
    found = bundle.raise_problems().of("Drill")
    return {name: drill for name, drill in found.items() if isinstance(drill, Drill)}


def known_drills(tx: Transaction | None = None) -> dict[str, Drill]:
    """Return every drill that can be named, in the order of their names; without ``tx`` the shipped ones."""
    applied = [] if tx is None else [Drill.model_validate(one.body) for one in tx.documents.active("Drill")]
    known = {**shipped_drills(), **{one.name: one for one in applied}}
    return {name: known[name] for name in sorted(known)}


def find_drill(tx: Transaction, name: str) -> Drill:
    """Return the drill that ``name`` means.

    Raises as `find_named`, and `InvalidDocuments` for a file with mistakes.
    """
    if Path(name).suffix in SUFFIXES:
        return _from_file(Path(name))
    return find_named(tx, name)


def find_named(tx: Transaction, name: str) -> Drill:
    """Return the drill of that name: the revision in force, or the shipped one.

    Raises `NotFound` that names the nearest one.
    """
    revision = tx.documents.find("Drill", name)
    if revision is not None:
        return Drill.model_validate(revision.body)
    shipped = shipped_drills()
    if name not in shipped:
        raise NotFound(f"no drill `{name}`", hint=did_you_mean(name, list(known_drills(tx))))
    return shipped[name]


def _from_file(path: Path) -> Drill:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from error
    found = list(load_bundle([(str(path), text)]).raise_problems().of("Drill").values())
    if len(found) != 1 or not isinstance(found[0], Drill):
        raise InvalidInput(f"{path} holds {len(found)} drills; one is needed")
    return found[0]
