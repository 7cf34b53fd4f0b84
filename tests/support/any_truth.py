"""What must hold whatever happens in a world, judged from outside: the platform's log, then the journal.

`Truth` looks after each thing that happened, and remembers what it saw before: fences, states, what
was undone. What is out of service is counted in each moment by `tests.support.any_outside`.
"""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from controlplane.act.plan import RunPlan
from controlplane.model.action import UndoStatus
from controlplane.model.approval import ApprovalRecord
from controlplane.model.records import JournalLine, OutOfService, Run, StepRecord, UndoView
from controlplane.model.states import RUN_MOVES, RunState, StepState, is_final
from controlplane.model.target import Target
from controlplane.model.topology import WriteRecord
from tests.support import any_effects
from tests.support.any_effects import FIELDS
from tests.support.any_outside import Outside
from tests.support.any_world import World

NAMED = (
    *("halted by", "paused by", "waits for", "proving", "step "),
    *("cannot look before the start", "cannot keep back yet", "undo of", "notifying"),
)
"""What a run may say that it waits for begins so."""


@dataclass(frozen=True)
class Seen:
    """One run with all that its rows say."""

    run: Run
    plan: RunPlan
    steps: dict[str, StepRecord]
    undo: list[UndoView]
    journal: list[JournalLine]
    asked: list[ApprovalRecord]
    carried: set[str]

    def events(self, prefix: str) -> list[JournalLine]:
        return [line for line in self.journal if line.event.startswith(prefix)]


class Truth:
    """Looks at everything, and fails with what does not hold."""

    def __init__(self, world: World) -> None:
        self.world, self.outside = world, Outside(world)
        world.platform.watch = world.drills.driver.watch = self.outside.watch
        self._fences: dict[str, int] = {}
        self._undone: dict[tuple[str, str, str, str], UndoStatus] = {}
        self._seq = 0
        self._halted = False
        self._paused: set[str] = set()
        self._lines: dict[str, int] = {}

    def look(self) -> None:
        """Check everything that must hold at any time."""
        assert self.world.problems == [], self.world.problems
        _, halted, seen = self._read()
        writes = self.world.platform.writes()
        undo = {each.run.id: each.undo for each in seen}
        for each in seen:
            self._fence(each)
            _ended_is_ended(each)
            _states_are_told(each)
            _approved(each)
            self._nothing_starts(each, halted=halted)
            self._undo(each)
            any_effects.told(each.run, each.journal, writes)
            any_effects.can_be_taken_back(each.run, each.undo, writes)
            any_effects.taken_back_from_us(each.run, undo[each.run.undo_of or each.run.id], writes)
        any_effects.one_each(writes)
        _one_of_a_group([each.run for each in seen])
        self._throttled([each.run for each in seen])
        self._remember(seen, halted=halted)

    def rest(self) -> None:
        """Check, when everything due was done, that each run that goes on waits for a named thing."""
        ledger, _, seen = self._read()
        for each in seen:
            if not is_final(each.run.state):
                self._waits_for_something(each, ledger)

    def _read(self) -> tuple[list[OutOfService], bool, list[Seen]]:
        with self.world.database.reading() as tx:
            runs = tx.runs.list(limit=1000)[::-1]
            found = [
                Seen(
                    run,
                    RunPlan.read(tx.runs.plan(run.id)),
                    {step.id: step for step in tx.steps.list(run.id)},
                    tx.undo.list(run.id),
                    tx.journal.list(run.id),
                    tx.approvals.list(run=run.id),
                    {step.id for step in tx.steps.list(run.retry_of)} if run.retry_of else set(),
                )
                for run in runs
            ]
            return tx.ledger.list(), bool(tx.halts.in_force()), found

    def _remember(self, seen: list[Seen], *, halted: bool) -> None:
        self._seq = max((write.seq for write in self.world.platform.writes()), default=0)
        self._halted = halted
        self._paused = {each.run.id for each in seen if each.run.paused is not None}
        self._lines = {each.run.id: each.journal[-1].id for each in seen}
        for each in seen:
            self._fences[each.run.id] = each.run.fence
            for view in each.undo:
                self._undone[_place(view)] = view.status

    def _throttled(self, runs: list[Run]) -> None:
        """No run of a playbook began within its throttle after another of the same group, but as a retry."""
        for run in runs:
            playbook = self.world.playbooks.get(run.name)
            limit = playbook.spec.throttle if playbook is not None else None
            if limit is None or run.trigger == "retry" or run.target is None:
                continue
            zone = Target.parse(run.target).zone if "zone" in limit.group_by else None
            for other in runs:
                if other.name != run.name or other.target is None or other.never_began:
                    continue
                if other.created_at >= run.created_at:
                    continue
                same = "zone" not in limit.group_by or Target.parse(other.target).zone == zone
                gap = (run.created_at - other.created_at).total_seconds()
                assert not same or gap >= limit.once_within, (other, run)

    # ── what it knew before ─────────────────────────────────────────────────────────────────────────────────

    def _fence(self, each: Seen) -> None:
        assert each.run.fence >= self._fences.get(each.run.id, 0)

    def _nothing_starts(self, each: Seen, *, halted: bool) -> None:
        """While automation is halted, or a run paused, no step begins."""
        paused = each.run.id in self._paused and each.run.paused is not None
        if (halted and self._halted) or paused:
            since = self._lines.get(each.run.id, 0)
            fresh = [line for line in each.events("step.running") if line.id > since]
            assert fresh == []

    def _undo(self, each: Seen) -> None:
        for view in each.undo:
            if view.status is self._undone.get(_place(view), UndoStatus.PENDING):
                continue
            if view.field in FIELDS:
                self._settled(each, view)
            if view.status in {UndoStatus.UNDONE, UndoStatus.FOREIGN, UndoStatus.WITHHELD, UndoStatus.FAILED}:
                lines = [line for line in each.events(f"undo.{view.status}") if line.step == view.step]
                assert lines, view

    def _settled(self, each: Seen, view: UndoView) -> None:
        """Check what became of one change against what stood at the platform meanwhile."""
        stood = self.outside.values(view.target, view.field, self._seq)
        match view.status:
            case UndoStatus.UNDONE:
                assert view.before in [value for value, _ in stood], (view, stood)
            case UndoStatus.FOREIGN:
                assert any(not _is_by(write, view) for _, write in stood), (view, stood)
            case UndoStatus.WITHHELD:
                assert view.detail
                ill = Target.parse(view.target).zone in self.world.measured.ill
                assert ill or "blast radius" in view.detail, view
            case UndoStatus.FAILED:
                assert view.detail
            case UndoStatus.KEPT:
                self._kept(each, view)

    def _kept(self, each: Seen, view: UndoView) -> None:
        """What a failed or cancelled run did stays only where it was said that it shall, or cannot go."""
        step = each.plan.step(view.step)
        can = step.undo and self.world.actions.get(step.uses).reversible
        wanted = each.plan.on_failure.undo
        if each.run.state is RunState.CANCELLED:
            asked = each.events("run.cancelRequested")
            wanted = bool(asked and asked[0].data["undo"])
        if each.run.state in {RunState.FAILED, RunState.CANCELLED}:
            assert not (can and wanted), (each.run, view)

    def _waits_for_something(self, each: Seen, ledger: list[OutOfService]) -> None:
        """Check that what a run says it waits for is there."""
        run, words = each.run, each.run.waiting
        assert words.startswith(NAMED), (run, each.steps)
        if words.startswith("halted by"):
            with self.world.database.reading() as tx:
                assert tx.halts.in_force(), run
        if found := re.search(r"\((run-\w+)\) of group", words):
            with self.world.database.reading() as tx:
                assert not is_final(tx.runs.get(found.group(1)).state), run
        if "waits for approval" in words:
            assert any(one.decision is None for one in each.asked), run
        if words.startswith("paused by"):
            assert run.paused == words
        if words.startswith("waits for blast radius"):
            assert any(row.holder != run.id for row in ledger), run
        if words.startswith("proving"):
            assert run.state is RunState.VERIFYING
        if words.startswith("step "):
            waiting = [step.id for step in each.steps.values() if step.state is StepState.WAITING]
            assert any(words.startswith(f"step {id_}") for id_ in waiting), run


def _place(view: UndoView) -> tuple[str, str, str, str]:
    return (view.run, view.step, view.target, view.field)


def _is_by(write: WriteRecord | None, view: UndoView) -> bool:
    return (
        write is not None and write.by is not None and (write.by.run, write.by.step) == (view.run, view.step)
    )


def _ended_is_ended(each: Seen) -> None:
    run, states = each.run, {step.state for step in each.steps.values()}
    if not is_final(run.state):
        assert run.due_at is not None, run
        return
    assert all(is_final(state) for state in states), run
    assert (run.due_at, run.lease_owner, run.waiting) == (None, None, ""), run
    assert run.reason, run
    assert not [view for view in each.undo if view.status is UndoStatus.PENDING], run
    assert all(one.decision is not None for one in each.asked), run
    if run.state is RunState.SUCCEEDED:
        failed = [id_ for id_, step in each.steps.items() if step.state is StepState.FAILED]
        assert all(each.plan.step(id_).continue_on_error for id_ in failed), run


def _states_are_told(each: Seen) -> None:
    """Every state that a run or a step has come to is a line of the journal, in an allowed order."""
    names = {f"run.{state}" for state in RunState}
    told = [RunState(line.event[4:]) for line in each.journal if line.event in names]
    assert told[0] is RunState.QUEUED
    assert told[-1] is each.run.state, (each.run, told)
    assert all(new in RUN_MOVES[old] for old, new in pairwise(told)), told
    last = {line.step: line.event for line in each.events("step.") if line.event[5:] in set(StepState)}
    for id_, step in each.steps.items():
        if is_final(step.state) and not (id_ in each.carried and id_ not in last):
            assert last.get(id_) == f"step.{step.state}", (each.run, step)


def _approved(each: Seen) -> None:
    """A run that people must approve has begun only with their word."""
    if each.plan.approval is not None and each.run.started_at is not None:
        assert [one.decision for one in each.asked if one.step is None] == ["approved"], each.run


def _one_of_a_group(runs: list[Run]) -> None:
    working = Counter(
        run.group
        for run in runs
        if run.group is not None and not is_final(run.state) and run.state is not RunState.QUEUED
    )
    assert all(count == 1 for count in working.values()), working
