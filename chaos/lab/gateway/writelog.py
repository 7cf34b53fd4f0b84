"""The platform's own memory of what was written to it, and by whom.

``writes.jsonl`` has exactly one line per effect, flushed to the disk before the writer is
answered. An effect takes time, so before it begins it is noted in ``intent.json``: if the
process dies in between, the next one finds the intent and completes or drops it, and the line
count stays the count of effects. Versions and the answers given to each key are all read back from
the lines.

A refused write leaves no line, and a write of what is there already neither; but whoever came with a
higher fence was seen, and the one before must stay out. So a fence that is higher than all before it
is a line of ``fences.jsonl``, on the disk before anything else is done.
"""

from __future__ import annotations

import json
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
SCALE = "scale"


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
        self._fence_path = folder / "fences.jsonl"
        self._intent = folder / "intent.json"
        self._clock = clock
        self._records: list[WriteRecord] = []
        self._fences: dict[str, int] = {}
        self._by_key: dict[str, WriteRecord] = {}
        self._newest: dict[tuple[str, str], WriteRecord] = {}
        for line in _whole_lines(self._path):
            self._remember(WriteRecord.model_validate_json(line))
        for line in _whole_lines(self._fence_path):
            run, fence = json.loads(line)
            self._fences[run] = max(fence, self._fences.get(run, fence))

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
        self.see(by)
        known = self._by_key.get(by.key)
        if known is not None and (known.op, known.target) != (op, target):
            raise Conflict(f"key {by.key} was used for {known.op} of {known.target}")
        return known

    def see(self, by: WriteTag) -> None:
        """Remember a run's fence for good, or raise FencedWrite if a higher one was seen."""
        highest = self._fences.get(by.run)
        if highest is not None and by.fence < highest:
            raise FencedWrite(by.run, by.fence, highest)
        if by.fence != highest:
            _append_line(self._fence_path, json.dumps([by.run, by.fence]))
            self._fences[by.run] = by.fence

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
        _append_line(self._path, record.model_dump_json(by_alias=True))
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

    # ── inside ──────────────────────────────────────────────────────────────────────────────────────────────

    def _remember(self, record: WriteRecord) -> None:
        self._records.append(record)
        self._newest[record.op, record.target] = record
        if record.by is not None:
            self._fences[record.by.run] = max(
                record.by.fence, self._fences.get(record.by.run, record.by.fence)
            )
            self._by_key[record.by.key] = record


def _append_line(path: Path, line: str) -> None:
    """Add a line, on the disk when this returns."""
    with path.open("a") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


def _whole_lines(path: Path) -> list[str]:
    """Complete lines only: a last line without its end was never answered, and is cut off."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    whole, _, torn = text.rpartition("\n")
    if torn:
        os.truncate(path, len(text.encode()) - len(torn.encode()))
    return whole.splitlines()


def _sync_folder(folder: Path) -> None:
    """A rename is durable once its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
