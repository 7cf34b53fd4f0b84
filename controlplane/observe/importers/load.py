"""Any of the known formats, known by what it says of itself, read as documents of ours.

A file may hold several documents, and a document a list of them. What is no format that is known is
refused; nothing is guessed from a file's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from controlplane.kernel.yaml import Document, Path, load_documents
from controlplane.model.query import promql_duration
from controlplane.observe.importers.openslo import read_openslo
from controlplane.observe.importers.pyrra import read_pyrra
from controlplane.observe.importers.reading import Imported, Notes, Reader, collect
from controlplane.observe.importers.rule_files import is_rules, read_rules
from controlplane.observe.importers.sloth import read_sloth

FORMATS = "OpenSLO (openslo/v1), Sloth (prometheus/v1), Pyrra (pyrra.dev/v1alpha1), Prometheus rules (groups)"


def import_files(files: Iterable[tuple[str, str]], window: float) -> Imported:
    """Read (name, text) pairs; ``window`` is that of formats whose files do not say theirs, in seconds."""
    found = Imported()
    seen: dict[tuple[str, str], str] = {}
    for file, text in files:
        documents = [part for whole in load_documents(text, file) for part in _parts(whole)]
        found.refused += [problem for document in documents for problem in document.problems]
        known = [document for document in documents if document.data is not None]
        readers = _openslo(known)
        for document in known:
            part = _read(document, window, readers)
            found.lost += part.lost
            found.refused += part.refused
            for made in part.made:
                key = (made["kind"], made["metadata"]["name"])
                if key in seen:
                    message = f"{key[0]} `{key[1]}` is in {seen[key]} already: left out"
                    found.refused.append(document.problem((), message))
                    continue
                seen[key] = file
                found.made.append(made)
    return found


def _read(document: Document, window: float, openslo: _OpenSlo) -> Imported:
    data = document.data
    version = str(data.get("apiVersion", data.get("version", ""))) if isinstance(data, dict) else ""
    if version == "prometheus/v1" or version.startswith("sloth.slok.dev/"):
        return collect(document, partial(read_sloth, window=window, written=promql_duration(window)))
    if version.startswith("pyrra.dev/"):
        return collect(document, read_pyrra)
    if version == "openslo/v1":
        return collect(
            document, partial(read_openslo, indicators=openslo.indicators, sources=openslo.sources)
        )
    if is_rules(data):
        return collect(document, read_rules)
    message = "no format that is known here" + (f": `{version}`" if version else "")
    problem = document.problem(("apiVersion",), message, f"known: {FORMATS}")
    return Imported(refused=[problem])


class _OpenSlo:
    """What OpenSLO's documents of one file say for one another."""

    def __init__(self) -> None:
        self.indicators: dict[str, Reader] = {}
        self.sources: dict[str, str] = {}


def _openslo(documents: Iterable[Document]) -> _OpenSlo:
    found = _OpenSlo()
    for document in documents:
        data = document.data
        if not isinstance(data, dict) or data.get("apiVersion") != "openslo/v1":
            continue
        metadata, spec = data.get("metadata"), data.get("spec")
        name = str(metadata.get("name")) if isinstance(metadata, dict) else ""
        if isinstance(spec, dict) and data.get("kind") == "SLI":
            found.indicators[name] = Reader(Notes(document), spec, ("spec",))
        if isinstance(spec, dict) and data.get("kind") == "DataSource":
            found.sources[name] = str(spec.get("type", ""))
    return found


def _parts(document: Document) -> Iterator[Document]:
    """Yield the documents that a list holds, each with its own places; else the document itself."""
    if not isinstance(document.data, list):
        yield document
        return
    for index, data in enumerate(document.data):
        line = document.positions.get((index,), (document.line, 1))[0]
        part = Document(document.file, data, line=line, text=document.text)
        part.positions = _under(document.positions, index)
        part.keys = _under(document.keys, index)
        part.problems = document.problems if index == 0 else []
        yield part


def _under(places: Mapping[Path, tuple[int, int]], index: int) -> dict[Path, tuple[int, int]]:
    return {path[1:]: place for path, place in places.items() if path[:1] == (index,)}
