"""The platform's own memory of what was written to it, and by whom.

``writes.jsonl`` has exactly one line per effect, flushed to the disk before the writer is
answered. An effect takes time, so before it begins it is noted in ``intent.json``: if the
process dies in between, the next one finds the intent and completes or drops it, and the line
count stays the count of effects. Versions, the highest fence of each run and the answers given
to each key are all read back from the lines; there is no other state.

A refused write leaves no line. Fences of refused writes are remembered until a restart only.
"""

from __future__ import annotations

import os
from pathlib import Path

from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Conflict, Fenced
from controlplane.model.topology import WriteRecord, WriteTag

WEIGHTS = "weights"
RESTART = "restart"
ROTATION = "rotation"
SCHEDULABLE = "schedulable"
REPLACE = "replace"
RECYCLE = "recycle"
LIMIT = "limit"
SHED = "shed"


class FencedWrite(Fenced):
    """A run's newer owner has written; ``highest`` is its fence."""

    def __init__(self, run: str, fence: int, highest: int) -> None:
        super().__init__(f"fence {fence} of run {run} is below {highest}, the highest seen")
        self.highest = highest


class WriteLog:
    """Append-only log in ``folder``, for one process at a time."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = folder / "writes.jsonl"
        self._intent = folder / "intent.json"
        self._clock = clock
        self._records: list[WriteRecord] = []
        self._fences: dict[str, int] = {}
        self._by_key: dict[str, WriteRecord] = {}
        self._newest: dict[tuple[str, str], WriteRecord] = {}
        for line in self._read_lines():
            self._remember(WriteRecord.model_validate_json(line))

    # ── questions ───────────────────────────────────────────────────────────────────────────────────────────

    def after(self, seq: int) -> list[WriteRecord]:
        """Records with a greater sequence number, oldest first."""
        return [record for record in self._records if record.seq > seq]

    @property
    def next_seq(self) -> int:
        """The sequence number of the next effect."""
        return self._records[-1].seq + 1 if self._records else 1

    def last(self, op: str) -> WriteRecord | None:
        """The newest record of an operation."""
        return next((record for record in reversed(self._records) if record.op == op), None)

    def newest(self, op: str, target: str) -> WriteRecord | None:
        """The newest record of an operation on one target."""
        return self._newest.get((op, target))

    def targets(self, op: str) -> list[str]:
        """The targets that an operation was ever done to."""
        return [target for known, target in self._newest if known == op]

    def admit(self, op: str, target: str, by: WriteTag | None) -> WriteRecord | None:
        """Let a writer in, or return the record of the effect this key already had.

        Raises Fenced for a lower fence than the run's highest, Conflict for a key that was used
        for something else.
        """
        if by is None:
            return None
        highest = self._fences.get(by.run, by.fence)
        if by.fence < highest:
            raise FencedWrite(by.run, by.fence, highest)
        self._fences[by.run] = by.fence
        known = self._by_key.get(by.key)
        if known is not None and (known.op, known.target) != (op, target):
            raise Conflict(f"key {by.key} was used for {known.op} of {known.target}")
        return known

    # ── effects ─────────────────────────────────────────────────────────────────────────────────────────────

    def draft(
        self, op: str, target: str, *, before: object, after: object, version: str, by: WriteTag | None
    ) -> WriteRecord:
        """Note durably that an effect is about to happen; ``append`` or ``drop_intent`` must follow."""
        record = WriteRecord(
            seq=self.next_seq, at=self._clock.now(),
            op=op, target=target, before=before, after=after, version=version, by=by,
        )  # fmt: skip
        draft = self._intent.with_suffix(".json.new")
        with draft.open("w") as file:
            file.write(record.model_dump_json(by_alias=True))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._intent)
        _sync_folder(self._intent.parent)
        return record

    def append(self, record: WriteRecord) -> None:
        """Write the effect's one line and forget the intent."""
        with self._path.open("a") as file:
            file.write(record.model_dump_json(by_alias=True) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._remember(record)
        self.drop_intent()

    def drop_intent(self) -> None:
        """Forget an intent whose effect did not happen."""
        self._intent.unlink(missing_ok=True)

    def pending(self) -> WriteRecord | None:
        """The intent an earlier process left behind, unless its line was written before it died."""
        try:
            record = WriteRecord.model_validate_json(self._intent.read_bytes())
        except FileNotFoundError:
            return None
        if any(known.seq >= record.seq for known in self._records):
            self.drop_intent()
            return None
        return record

    # ── the file ────────────────────────────────────────────────────────────────────────────────────────────

    def _read_lines(self) -> list[str]:
        """Complete lines only: a last line without its end was never answered, its intent tells of it."""
        try:
            text = self._path.read_text()
        except FileNotFoundError:
            return []
        whole, _, torn = text.rpartition("\n")
        if torn:
            os.truncate(self._path, len(text.encode()) - len(torn.encode()))
        return whole.splitlines()

    def _remember(self, record: WriteRecord) -> None:
        self._records.append(record)
        self._newest[record.op, record.target] = record
        if record.by is not None:
            self._fences[record.by.run] = max(
                record.by.fence, self._fences.get(record.by.run, record.by.fence)
            )
            self._by_key[record.by.key] = record


def _sync_folder(folder: Path) -> None:
    """A rename is durable once its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
