"""Objectives of other tools, read from files and held against our own loader before anybody sees them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from controlplane.bootstrap.documents import check_text, read_files
from controlplane.kernel.yaml_out import dump_documents
from controlplane.observe.importers.load import import_files
from controlplane.observe.importers.reading import Imported


def import_objectives(paths: Iterable[Path], window: float) -> Imported:
    """Return what the files hold as documents of ours that load; one that would not is refused."""
    texts, unreadable = read_files(paths)
    found = import_files(texts, window)
    found.refused += unreadable
    sound = []
    for made in found.made:
        name = f"{made['kind']} {made['metadata']['name']}"
        problems = check_text(name, dump_documents([made])).problems
        found.refused += problems
        if not problems:
            sound.append(made)
    found.made = sound
    return found
