"""What must hold of effects: told before they are done, done once, taken back only where they still stand.

Comparison of a platform's own write log with the rows of the runs that wrote. It looks at nothing else.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from controlplane.actions.renewal import FIELD as INCARNATION
from controlplane.model.records import JournalLine, Run, UndoView
from controlplane.model.topology import WriteRecord
from controlplane.platforms.port import LIMIT, RECYCLE, REPLACE, RESTART, ROTATION, SCHEDULABLE, SHED, WEIGHTS

RENEWALS = {RESTART, RECYCLE, REPLACE}
FIELDS = {
    "weight": WEIGHTS,
    "inRotation": ROTATION,
    "schedulable": SCHEDULABLE,
    "limit": LIMIT,
    "shed": SHED,
}
DEFAULTS: dict[str, Any] = {"weight": 100, "inRotation": True, "schedulable": True, "limit": None, "shed": []}
NAMES = {op: name for name, op in FIELDS.items()} | dict.fromkeys(RENEWALS, INCARNATION)
"""What the field is called that an operation changes."""


def by_run(writes: Sequence[WriteRecord], run: str) -> list[WriteRecord]:
    return [write for write in writes if write.by is not None and write.by.run == run]


def is_undo(write: WriteRecord) -> bool:
    return write.by is not None and "/undo" in write.by.key


def changes(write: WriteRecord) -> Iterator[tuple[str, Any, Any]]:
    """Yield the targets that a write changed, each with what stood there, and what stands there since."""
    if write.op != WEIGHTS:
        yield write.target, write.before, write.after
        return
    for zone, weight in write.after.items():
        if weight != write.before[zone]:
            yield f"{write.target}/{zone}", write.before[zone], weight


def told(run: Run, journal: Sequence[JournalLine], writes: Sequence[WriteRecord]) -> None:
    """The journal has a line for every effect, and no later owner was followed by an earlier one."""
    mine = by_run(writes, run.id)
    fences = [write.by.fence for write in mine if write.by is not None]
    assert fences == sorted(fences), run
    lines = Counter((str(line.step), str(line.data["target"])) for line in journal if line.event == "effect")
    done = Counter((by.step, place) for write in mine if (by := write.by) for place, *_ in changes(write))
    assert not done - lines, (run, done - lines)


def can_be_taken_back(run: Run, undo: Sequence[UndoView], writes: Sequence[WriteRecord]) -> None:
    """For every effect there is a record of what stood there before."""
    known = {(view.step, view.target, view.field) for view in undo}
    for write in by_run(writes, run.id):
        if write.by is not None and not is_undo(write):
            for place, *_ in changes(write):
                assert (write.by.step, place, NAMES[write.op]) in known, (run, write)


def taken_back_from_us(run: Run, undo: Sequence[UndoView], writes: Sequence[WriteRecord]) -> None:
    """What an undo replaced was ours: of this run, or of the one that it takes back.

    ``undo`` are the records of the run whose changes are taken back.
    """
    ours = {(view.target, str(value)) for view in undo for value in (view.intended, view.applied)}
    for write in by_run(writes, run.undo_of or run.id):
        ours |= {(place, str(after)) for place, _, after in changes(write) if not is_undo(write)}
    for write in by_run(writes, run.id):
        for place, before, _ in changes(write) if is_undo(write) else ():
            assert (place, str(before)) in ours, (run, write)


def one_each(writes: Sequence[WriteRecord]) -> None:
    """No step renews a part twice, and none makes the same change again, but to take it back."""
    seen: Counter[tuple[str, ...]] = Counter()
    for write in writes:
        if write.by is None:
            continue
        step = (write.by.run, write.by.step)
        if write.op in RENEWALS:
            seen[*step, write.op, write.target] += 1
        else:
            kind = "undo" if is_undo(write) else "do"
            for place, _, value in changes(write):
                seen[*step, kind, place, str(value)] += 1
    doubled = {key: count for key, count in seen.items() if count > 1}
    assert doubled == {}
