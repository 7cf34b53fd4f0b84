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


def find_drill(tx: Transaction, name: str) -> Drill:
    """Return the drill that ``name`` means.

    Raises `NotFound` that names the nearest one, and `InvalidDocuments` for a file with mistakes.
    """
    if Path(name).suffix in SUFFIXES:
        return _from_file(Path(name))
    revision = tx.documents.find("Drill", name)
    if revision is not None:
        return Drill.model_validate(revision.body)
    shipped = shipped_drills()
    if name not in shipped:
        known = sorted({*shipped, *(one.name for one in tx.documents.active("Drill"))})
        raise NotFound(f"no drill `{name}`", hint=did_you_mean(name, known))
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
