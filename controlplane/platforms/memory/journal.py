"""Who may write, what was written, and how a write fails by script.

The same promises as every platform's own log: a lower fence is refused, a key that was seen is
answered with its first answer. It knows nothing of what the writes are about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Ambiguous, Conflict, Fenced, Unavailable
from controlplane.model.topology import WriteRecord, WriteTag

When = Literal["before", "after", "lost"]
"""How a scripted failure strikes: ``before`` the effect (`Unavailable`), ``after`` it (`Ambiguous`), or
``lost``: `Ambiguous` to the caller, and nothing happened."""


@dataclass(slots=True)
class Admission:
    """What a key was used for, and the answer it got."""

    op: str
    target: str
    answer: Any


class Journal:
    """The write log, the fences, the keys, the versions, and the failures to come."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.version = 1
        self._fences: dict[str, int] = {}
        self._keys: dict[str, Admission] = {}
        self._failures: dict[str, list[When]] = {}
        self.records: list[WriteRecord] = []

    def next_version(self) -> str:
        self.version += 1
        return str(self.version)

    def script(self, op: str, *when: When) -> None:
        """Let the next calls of ``op`` fail, one entry a call."""
        self._failures.setdefault(op, []).extend(when)

    def admit(self, op: str, target: str, by: WriteTag | None) -> Admission | None:
        """Refuse a late writer; return what the key was answered before, if it was."""
        if by is None:
            return None
        self.see(by)
        seen = self._keys.get(by.key)
        if seen and (seen.op, seen.target) != (op, target):
            msg = f"key {by.key} was used for {seen.op} of {seen.target}"
            raise Conflict(msg)
        return seen

    def see(self, by: WriteTag) -> None:
        """Remember the highest fence of a run; refuse a lower one."""
        highest = self._fences.get(by.run, by.fence)
        if by.fence < highest:
            msg = f"fence {by.fence} of run {by.run} is below {highest}, the highest seen"
            raise Fenced(msg)
        self._fences[by.run] = by.fence

    def strike(self, op: str) -> When | None:
        """Fail as the script says; ``after`` is returned, for `confirm` when the effect has happened."""
        script = self._failures.get(op)
        when = script.pop(0) if script else None
        if when == "before":
            msg = f"scripted: {op} is not available"
            raise Unavailable(msg)
        if when == "lost":
            msg = f"scripted: no answer to {op}"
            raise Ambiguous(msg)
        return when

    def confirm(self, failure: When | None) -> None:
        """Lose the answer if the script says so."""
        if failure == "after":
            msg = "scripted: the answer was lost"
            raise Ambiguous(msg)

    def record(self, op: str, target: str, before: Any, after: Any, by: WriteTag | None, answer: Any) -> None:
        """Write down an effect that has happened, and what its key is answered from now on."""
        self.records.append(
            WriteRecord(
                seq=len(self.records) + 1,
                at=self._clock.now(),
                op=op,
                target=target,
                before=before,
                after=after,
                version=str(self.version),
                by=by,
            )
        )
        if by is not None:
            self._keys[by.key] = Admission(op, target, answer)
