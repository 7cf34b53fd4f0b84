"""Documents as immutable revisions, which of them is in force, and what the last load could not read.

A run pins revisions by their hash, so a revision is never changed. A file with mistakes
leaves the last good revision in force; the mistakes stay readable until the next load.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, select

from controlplane.kernel.errors import NotFound, Problem
from controlplane.model.documents import KINDS, revision_hash
from controlplane.model.kind import Kind
from controlplane.model.records import Revision
from controlplane.store.tables import active_documents, documents, load_problems
from controlplane.store.unit import Repository

_GET = select(documents).where(documents.c.sha256 == bindparam("b_sha256"))
_KNOWN = select(documents.c.sha256).where(documents.c.sha256 == bindparam("b_sha256"))
_SLOT = (active_documents.c.kind == bindparam("kind"), active_documents.c.name == bindparam("name"))
_IN_FORCE = select(active_documents.c.sha256).where(*_SLOT)
_ACTIVE = select(documents).join(active_documents, active_documents.c.sha256 == documents.c.sha256)
_FIND = _ACTIVE.where(*_SLOT)

_KEPT = ("file", "line", "column", "path", "message", "suggestion")
"""What is stored of a mistake: all that is stored are errors, and the message says which."""


class DocumentRepository(Repository):
    """``tx.documents``."""

    def put(self, model: Kind, source: str = "") -> str:
        """Store a revision if it is new, put it in force, and return its sha256."""
        sha256 = revision_hash(model)
        if not self._has(sha256):
            body = model.model_dump(mode="json", by_alias=True)
            row = {"sha256": sha256, "kind": model.kind, "name": model.name, "body": body}
            self.unit.add(documents, **row, source=source, loaded_at=self.now)
        slot = {"kind": model.kind, "name": model.name}
        present = self.unit.scalar(_IN_FORCE, slot)
        if present is None:
            self.unit.add(active_documents, **slot, sha256=sha256, since=self.now)
        elif present != sha256:
            self.unit.change(active_documents, slot, {"sha256": sha256, "since": self.now})
        if present != sha256:
            self.unit.emit("document", f"{model.kind}/{model.name}")
        return sha256

    def check(self, sha256: str) -> None:
        """Raise `NotFound` if there is no such revision."""
        if not self._has(sha256):
            raise _unknown(sha256)

    def get(self, sha256: str) -> Revision:
        row = self.unit.row(_GET, {"b_sha256": sha256})
        if row is None:
            raise _unknown(sha256)
        return Revision.model_validate(row)

    def load(self, sha256: str) -> Kind:
        """Return a revision as the kind it is."""
        revision = self.get(sha256)
        return KINDS[revision.kind].model_validate(revision.body)

    def active(self, kind: str | None = None) -> list[Revision]:
        """List the revisions in force, by kind and name."""
        joined = _ACTIVE
        if kind is not None:
            joined = joined.where(documents.c.kind == kind)
        found = joined.order_by(documents.c.kind, documents.c.name)
        return [Revision.model_validate(row) for row in self.unit.rows(found)]

    def pointers(self) -> dict[tuple[str, str], str]:
        """Return the hash of every revision in force, by kind and name: cheap, to see whether any changed."""
        table = active_documents
        rows = self.unit.rows(select(table.c.kind, table.c.name, table.c.sha256))
        return {(row["kind"], row["name"]): row["sha256"] for row in rows}

    def find(self, kind: str, name: str) -> Revision | None:
        """Return the revision in force, if there is one."""
        row = self.unit.row(_FIND, {"kind": kind, "name": name})
        return None if row is None else Revision.model_validate(row)

    def retire(self, kind: str, name: str) -> bool:
        """Take a document out of force; its revisions stay for the runs that pin them."""
        gone = self.unit.drop(active_documents, {"kind": kind, "name": name}) > 0
        if gone:
            self.unit.emit("document", f"{kind}/{name}")
        return gone

    def replace_problems(self, problems: Sequence[Problem]) -> None:
        """Keep the mistakes of the last load, and forget those of the load before."""
        self.unit.write(delete(load_problems))
        for each in problems:
            row = {name: getattr(each, name) for name in _KEPT}
            self.unit.add(load_problems, **row, at=self.now)

    def problems(self) -> list[Problem]:
        """List the mistakes of the last load."""
        rows = self.unit.rows(select(load_problems).order_by(load_problems.c.id))
        return [Problem(**{name: row[name] for name in _KEPT}) for row in rows]

    def _has(self, sha256: str) -> bool:
        return self.unit.row(_KNOWN, {"b_sha256": sha256}) is not None


def _unknown(sha256: str) -> NotFound:
    return NotFound(f"no revision {sha256[:12]}")
