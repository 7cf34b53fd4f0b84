"""Anything may happen in any order: crashes, lost and doubled messages, cancels, halts, late workers.

Whatever does, an effect happens once, states move as allowed, and in the end every run ends.
"""

import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from controlplane.act.cancel import cancel_run, supersede_run
from controlplane.act.sweep import sweep
from controlplane.kernel.errors import Conflict, Unavailable
from controlplane.kernel.ids import new_id
from controlplane.model.action import ActionContext, UndoResult, UndoStatus
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.records import Halt, Run
from controlplane.model.states import RUN_MOVES, RunState, StepState, is_final
from tests.support.rig import Crash, Fuse, Rig
from tests.support.scripted import Scripted, ScriptParameters, write

STEPS = st.lists(st.sampled_from(["ramp", "flaky", "fail", "wait"]), min_size=1, max_size=3)


class Machine(RuleBasedStateMachine):
    """Two workers, some runs, one concurrency group, and whatever goes wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.effects: dict[str, Any] = {}
        self.doubled: list[str] = []
        self.runs: list[Run] = []
        self.halts: list[str] = []
        actions = [
            Scripted("ramp", self._ramp, undo=self._undo),
            Scripted("flaky", self._flaky),
            Scripted("fail", lambda *_: Failed(FailureKind.PERMANENT, "no use")),
            Scripted("wait", lambda _, context: Done() if context.state else Again(7.0, {"waited": True})),
        ]
        self.rig = Rig(Path(self.folder.name), *actions)
        self.workers = [self.rig.executor, self.rig.new_executor()]

    def teardown(self) -> None:
        self.rig.database.close()
        self.folder.cleanup()

    def _ramp(self, parameters: ScriptParameters, context: ActionContext) -> Outcome:
        stage = int(context.state.get("stage", 0)) + 1
        tag = write(context, stage - 1, stage, str(stage))
        if self.effects.setdefault(tag.key, stage) != stage:
            self.doubled.append(tag.key)
        return Done() if stage == 3 else Again(1.0, {"stage": stage})

    def _flaky(self, parameters: ScriptParameters, context: ActionContext) -> Outcome:
        if context.attempt == 1:
            msg = "not now"
            raise Unavailable(msg)
        return Done()

    def _undo(self, record: Any) -> UndoResult:
        return UndoResult(UndoStatus.UNDONE)

    @initialize(steps=STEPS)
    def begin(self, steps: list[str]) -> None:
        self.start(steps, "playbook", grouped=False)

    @precondition(lambda self: len(self.runs) < 4)
    @rule(steps=STEPS, kind=st.sampled_from(["playbook", "drill"]), grouped=st.booleans())
    def start(self, steps: list[str], kind: str, *, grouped: bool) -> None:
        plan = [
            {"id": f"s{number}", "uses": uses, "retry": {"limit": 1}} for number, uses in enumerate(steps)
        ]
        self.runs.append(self.rig.start(*plan, kind=kind, group="g" if grouped else None))

    @rule(worker=st.integers(0, 1), pick=st.integers(0, 3))
    def advance(self, worker: int, pick: int) -> None:
        self.workers[worker].advance(self.runs[pick % len(self.runs)].id)

    @rule(worker=st.integers(0, 1), pick=st.integers(0, 3), at=st.integers(1, 12))
    def crash(self, worker: int, pick: int, at: int) -> None:
        self.rig.database.fuse = Fuse(at)
        try:
            self.advance(worker, pick)
        except Crash:
            self.workers[worker] = self.rig.new_executor()
        finally:
            self.rig.database.fuse = None

    @rule(seconds=st.sampled_from([0.5, 2.0, 16.0]))
    def time_passes(self, seconds: float) -> None:
        self.rig.clock.advance(seconds)

    @rule()
    def messages_are_lost(self) -> None:
        self.rig.woken.clear()

    @rule()
    def the_sweeper_sweeps(self) -> None:
        sweep(self.rig.database, self.rig.woken.append)

    @rule(worker=st.integers(0, 1))
    def messages_arrive(self, worker: int) -> None:
        woken, self.rig.woken[:] = list(self.rig.woken), []
        for run_id in woken:
            self.workers[worker].advance(run_id)

    @rule(pick=st.integers(0, 3), undo=st.booleans())
    def cancel(self, pick: int, *, undo: bool) -> None:
        try:
            with self.rig.database.transaction() as tx:
                cancel_run(tx, self.runs[pick % len(self.runs)].id, by="ada", undo=undo)
        except Conflict:
            assert is_final(self.rig.run(self.runs[pick % len(self.runs)]).state)

    @rule(pick=st.integers(0, 3))
    def supersede(self, pick: int) -> None:
        with self.rig.database.transaction() as tx:
            supersede_run(tx, self.runs[pick % len(self.runs)].id, reason="folded")

    @precondition(lambda self: len(self.halts) < 2)
    @rule()
    def halt(self) -> None:
        with self.rig.database.transaction() as tx:
            halt = Halt(id=new_id("halt"), reason="stop", by="ada", created_at=self.rig.clock.now())
            self.halts.append(tx.halts.add(halt).id)

    @precondition(lambda self: bool(self.halts))
    @rule()
    def lift(self) -> None:
        with self.rig.database.transaction() as tx:
            tx.halts.lift(self.halts[-1])

    @invariant()
    def no_effect_is_doubled(self) -> None:
        assert self.doubled == []

    @invariant()
    def states_agree(self) -> None:
        with self.rig.database.reading() as tx:
            working = 0
            for run in (tx.runs.get(each.id) for each in self.runs):
                states = {step.state for step in tx.steps.list(run.id)}
                if is_final(run.state):
                    assert all(is_final(state) for state in states)
                    assert (run.due_at, run.lease_owner) == (None, None)
                else:
                    assert run.due_at is not None
                    working += run.group is not None and run.state != RunState.QUEUED
                if run.state == RunState.SUCCEEDED:
                    assert states <= {StepState.SUCCEEDED, StepState.SKIPPED}
                moves = [line.event for line in tx.journal.list(run.id) if line.event.startswith("run.")]
                told = [name[4:] for name in moves if name[4:] in set(RunState)]
                for old, new in pairwise(told):
                    assert RunState(new) in RUN_MOVES[RunState(old)]
            assert working <= 1

    @rule()
    def in_the_end_every_run_ends(self) -> None:
        with self.rig.database.transaction() as tx:
            for halt_id in self.halts:
                tx.halts.lift(halt_id)
        self.rig.clock.advance(16.0)
        for run in self.runs:
            self.rig.finish(run, seconds=120)


Machine.TestCase.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
TestEngine = Machine.TestCase
