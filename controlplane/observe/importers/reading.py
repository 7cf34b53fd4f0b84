"""A foreign document read key by key, so that what nobody asked for can be told instead of dropped.

`Reader` hands out values and remembers which; at the end the rest is known. Each loss has its
place in the file. It knows no tool's format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from controlplane.kernel.errors import InvalidInput, Problem
from controlplane.kernel.yaml import Document, Path
from controlplane.model.kind import API_VERSION

Made = dict[str, Any]
"""A document of ours, as data."""

LOST = "not-mapped"


@dataclass(slots=True)
class Imported:
    """What a file became: our documents, what of it is lost, and what could not be mapped at all."""

    made: list[Made] = field(default_factory=list)
    lost: list[Problem] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)

    def add(self, other: Imported) -> None:
        self.made += other.made
        self.lost += other.lost
        self.refused += other.refused


class Unmapped(InvalidInput):
    """This part of a document has no counterpart; ``path`` says where."""

    def __init__(self, path: Path, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.path = path


@dataclass(slots=True)
class Notes:
    """What is lost of one document, and what of it cannot be mapped."""

    document: Document
    lost: list[Problem] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)

    def lose(self, path: Path, message: str) -> None:
        told = replace(self.document.problem(path, message, key=True), code=LOST, severity="warning")
        if told not in self.lost:
            self.lost.append(told)

    def attempt(self, make: Callable[[], Made]) -> Iterator[Made]:
        """Yield what is made, or tell why it cannot be; the others of the document go on."""
        try:
            yield make()
        except Unmapped as error:
            self.refuse(error)

    def refuse(self, error: Unmapped) -> None:
        self.refused.append(self.document.problem(error.path, error.message, error.hint))


class Reader:
    """One mapping of a foreign document."""

    def __init__(self, notes: Notes, data: Any, path: Path = ()) -> None:
        if not isinstance(data, dict):
            raise Unmapped(path, "a mapping is expected here")
        self.notes, self.path = notes, path
        self._data = data
        self._seen: set[str] = set()
        self._inside: list[Reader] = []

    def __contains__(self, key: str) -> bool:
        return self._data.get(key) is not None

    def take(self, key: str, default: Any = None) -> Any:
        """Return a value, and take it as understood."""
        self._seen.add(key)
        value = self._data.get(key)
        return default if value is None else value

    def text(self, key: str) -> str:
        """Return a text that must be there."""
        value = self.take(key)
        if isinstance(value, bool) or not isinstance(value, str | int | float) or str(value).strip() == "":
            raise Unmapped((*self.path, key), f"`{key}` is missing or no text")
        return str(value)

    def texts(self, key: str) -> dict[str, str]:
        """Return a mapping of texts; a list is joined by commas."""
        found = self.take(key, {})
        if not isinstance(found, dict):
            raise Unmapped((*self.path, key), f"`{key}` is no mapping of texts")
        return {
            name: ",".join(map(str, value)) if isinstance(value, list) else _word(value)
            for name, value in found.items()
        }

    def inside(self, key: str) -> Reader:
        """Return the mapping under a key, an empty one if there is none."""
        reader = Reader(self.notes, self.take(key, {}), (*self.path, key))
        self._inside.append(reader)
        return reader

    def each(self, key: str) -> Iterator[Reader]:
        """Yield the mappings of a list."""
        found = self.take(key, [])
        if not isinstance(found, list):
            raise Unmapped((*self.path, key), f"`{key}` is no list")
        for index, data in enumerate(found):
            reader = Reader(self.notes, data, (*self.path, key, index))
            self._inside.append(reader)
            yield reader

    def lose(self, message: str, key: str | None = None) -> None:
        """Tell that something here is lost; the key counts as seen."""
        if key is not None:
            self._seen.add(key)
        self.notes.lose(self.path if key is None else (*self.path, key), message)

    def rest(self) -> None:
        """Tell of every key that nobody asked for, here and inside."""
        for key, value in self._data.items():
            if key not in self._seen and value not in (None, {}, [], ""):
                self.lose(f"`{key}` has no counterpart", key)
        for reader in self._inside:
            reader.rest()


def collect(document: Document, read: Callable[[Reader], Iterator[Made]]) -> Imported:
    """Read one document; what cannot be mapped ends it, and is told with its place."""
    notes = Notes(document)
    found = Imported()
    try:
        reader = Reader(notes, document.data)
        found.made = list(read(reader))
        reader.rest()
    except Unmapped as error:
        notes.refuse(error)
    found.lost, found.refused = notes.lost, notes.refused
    return found


def our_document(kind: str, name: str, spec: Made, reader: Reader, **metadata: dict[str, str]) -> Made:
    """Return a document of ours; a name that must change is told."""
    slug = slugged(name)
    if not slug:
        raise Unmapped(reader.path, f"`{name}` has no letter or digit to make a name of")
    if slug != name:
        reader.lose(f"the name `{name}` is written `{slug}` here: lower case letters, digits and dashes")
    filled = {key: value for key, value in metadata.items() if value}
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "metadata": {"name": slug, **filled},
        "spec": spec,
    }


def slugged(name: str) -> str:
    """Return a text as a name of ours."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")[:63].strip("-.")


def percent(value: Any, path: Path) -> str:
    """Return a number of per cent as a target is written here."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise Unmapped(path, f"{value!r} is no number of per cent") from error
    if not 0 < number < 100:
        raise Unmapped(path, f"{number:g} % is no objective: it must be more than 0 and less than 100")
    return f"{number:.10g}%"


def _word(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
