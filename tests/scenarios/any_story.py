"""Any fleet, any playbooks, and whatever happens to them: what was promised holds after each thing that does.

Two workers that die, or are stopped and come back, at any commit or effect; messages lost, doubled
and late; zones that fail and are well again; drills that take a zone out; people who start, approve,
reject, pause, cancel, retry, undo, halt, and change weights behind our back; a platform that does
not answer. What is held against that is `tests.support.any_truth`. Told by `tests.scenarios.test_any_story`,
as it comes, and by `tests.scenarios.test_directed_stories`, by hand.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import ClassVar

import hypothesis.strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from controlplane.act.approve import Answer, decide_approval
from controlplane.act.cancel import cancel_run, supersede_run
from controlplane.act.pause import continue_run, pause_run
from controlplane.act.retry import retry_run
from controlplane.act.sweep import sweep
from controlplane.act.take_back import undo_run
from controlplane.kernel.errors import Ambiguous, Conflict, InvalidInput, NotFound, Refused, Unavailable
from controlplane.kernel.ids import new_id
from controlplane.model.identity import Role
from controlplane.model.playbook import Playbook
from controlplane.model.policy import Policy
from controlplane.model.records import Halt
from controlplane.platforms.memory import When
from controlplane.store.transaction import Transaction
from tests.support.any_playbook import SHAPES, Shape, playbooks, policies
from tests.support.any_truth import Truth
from tests.support.any_world import FusedMemory, World, ended

FEW = 7
"""So many runs in one story are enough to get into each other's way."""

WORKER, PICK, AT = st.integers(0, 1), st.integers(0, FEW), st.integers(1, 14)
ZONE = st.integers(0, 2)


class AnyStory(RuleBasedStateMachine):
    """One world, and everything that may happen in it."""

    database: ClassVar[FusedMemory]
    world: World | None = None

    @initialize(shape=SHAPES, data=st.data())
    def begin(self, shape: Shape, data: st.DataObject) -> None:
        found = data.draw(playbooks(shape))
        self.make_world(shape, data.draw(policies()), found)
        self.somebody_starts_one("one", 1)

    def make_world(self, shape: Shape, policy: Policy, found: Sequence[Playbook]) -> None:
        """Make the world that the story is of, with nothing going on in it."""
        self.world = World(self.database, shape, policy, found)
        self.truth = Truth(self.world)
        self.halts: list[str] = []
        self.cut: set[str] = set()

    def few(self) -> bool:
        return len(self.there.runs()) < FEW

    @property
    def there(self) -> World:
        assert self.world is not None
        return self.world

    def picked(self, pick: int) -> str:
        runs = self.there.runs()
        return runs[pick % len(runs)].id if runs else "nobody"

    def zone(self, number: int) -> str:
        return self.there.shape.zones[number % self.there.shape.zone_count]

    def act(self, doing: Callable[[Transaction], object]) -> None:
        """Do what a person does; that it may not be done now is an answer too."""
        with suppress(Conflict, NotFound, Refused), self.there.database.transaction() as tx:
            doing(tx)

    # ── runs begin ──────────────────────────────────────────────────────────────────────────────────────────

    @precondition(few)
    @rule(name=st.sampled_from(["one", "two", "three"]), place=PICK)
    def somebody_starts_one(self, name: str, place: int) -> None:
        targets = self.there.shape.targets
        with suppress(Refused):
            self.there.ask_for(name, targets[place % len(targets)])

    @precondition(few)
    @rule(zone=ZONE)
    def a_zone_fails_its_clients(self, zone: int) -> None:
        self.there.decide(self.zone(zone))

    @rule(zone=ZONE)
    def a_zone_recovers(self, zone: int) -> None:
        self.there.recover(self.zone(zone))

    @precondition(few)
    @rule(zone=ZONE)
    def a_drill_takes_a_zone_out(self, zone: int) -> None:
        with suppress(Refused):
            self.there.begin_drill(self.zone(zone))

    @precondition(few)
    @rule(pick=PICK)
    def somebody_retries(self, pick: int) -> None:
        run = self.picked(pick)
        self.act(lambda tx: retry_run(tx, run, by="ada", wake=self.there.woken.append))

    @precondition(few)
    @rule(pick=PICK)
    def somebody_undoes(self, pick: int) -> None:
        run = self.picked(pick)
        self.act(lambda tx: undo_run(tx, run, by="ada", wake=self.there.woken.append))

    # ── workers and messages ────────────────────────────────────────────────────────────────────────────────

    @rule(worker=WORKER, pick=PICK)
    def a_worker_gets_a_message(self, worker: int, pick: int) -> None:
        self.there.advance(worker, self.picked(pick))

    @rule(worker=WORKER, pick=PICK, at=AT)
    def a_worker_dies(self, worker: int, pick: int, at: int) -> None:
        self.there.die(worker, self.picked(pick), at)

    @rule(worker=WORKER, pick=PICK, at=AT, how=st.sampled_from(["goes on", "cancelled", "ill", "changed"]))
    def a_worker_is_stopped_for_a_while(self, worker: int, pick: int, at: int, how: str) -> None:
        run = self.picked(pick)

        def meanwhile() -> None:
            if how == "cancelled":
                self.act(lambda tx: cancel_run(tx, run, by="ada", undo=False))
            elif how == "ill":
                self.there.measured.ill.update(self.there.shape.zones)
            elif how == "changed":
                self.set_weight(self.there.shape.zones[0], 30)

        self.there.stop(worker, run, at, meanwhile)

    @rule()
    def messages_are_lost(self) -> None:
        self.there.woken.clear()

    @rule()
    def the_sweeper_sweeps(self) -> None:
        sweep(self.there.database, self.there.woken.append)

    @rule(worker=WORKER)
    def messages_arrive_twice(self, worker: int) -> None:
        for run_id in [*self.there.woken, *self.there.woken]:
            self.there.advance(worker, run_id)
        self.there.woken.clear()

    @rule(seconds=st.sampled_from([0.5, 2.0, 5.0, 16.0]))
    def time_passes_and_nobody_works(self, seconds: float) -> None:
        self.there.clock.advance(seconds)
        self.there.keep_ledger()

    @rule(worker=WORKER, seconds=st.sampled_from([1.0, 3.0, 10.0]))
    def things_go_on(self, worker: int, seconds: float) -> None:
        self.there.run_on(seconds, worker)

    @rule(worker=WORKER)
    def things_come_to_rest(self, worker: int) -> None:
        self.there.run_on(20.0, worker)
        self.truth.look()
        self.truth.rest()

    # ── people ──────────────────────────────────────────────────────────────────────────────────────────────

    @rule(pick=PICK, undo=st.booleans())
    def somebody_cancels(self, pick: int, *, undo: bool) -> None:
        run = self.picked(pick)
        self.act(lambda tx: cancel_run(tx, run, by="ada", undo=undo))

    @rule(pick=PICK)
    def a_wider_run_takes_over(self, pick: int) -> None:
        run = self.picked(pick)
        self.act(lambda tx: supersede_run(tx, run, reason="folded"))

    @rule(pick=PICK)
    def somebody_pauses(self, pick: int) -> None:
        run = self.picked(pick)
        self.act(lambda tx: pause_run(tx, run, by="ada"))

    @rule(pick=PICK)
    def somebody_lets_it_go_on(self, pick: int) -> None:
        run = self.picked(pick)
        self.act(lambda tx: continue_run(tx, run, by="ada", wake=self.there.woken.append))

    @rule(answer=st.sampled_from(["approved", "approved", "rejected"]))
    def somebody_decides(self, answer: Answer) -> None:
        with self.there.database.reading() as tx:
            asked = tx.approvals.list(waiting=True)
        for each in asked:
            self.act(lambda tx, id_=each.id: decide_approval(tx, id_, answer, by="bob", role=Role.APPROVER))  # type: ignore[misc]

    @rule()
    def somebody_halts(self) -> None:
        halt = Halt(id=new_id("halt"), reason="stop", by="ada", created_at=self.there.clock.now())
        self.act(lambda tx: self.halts.append(tx.halts.add(halt).id))

    @rule()
    def the_halts_are_lifted(self) -> None:
        for halt in self.halts:
            self.act(lambda tx, id_=halt: tx.halts.lift(id_))  # type: ignore[misc]
        self.halts.clear()

    @rule(zone=ZONE, weight=st.sampled_from([100, 60, 0]))
    def somebody_sets_a_weight(self, zone: int, weight: int) -> None:
        self.set_weight(self.zone(zone), weight)

    def set_weight(self, zone: str, weight: int) -> None:
        with suppress(InvalidInput, Unavailable, Ambiguous):  # nobody would serve; the platform fails
            self.there.platform.set_weights("chat", {zone: weight}, expected_version=None, by=None)
        self.there.keep_ledger()

    # ── trouble ─────────────────────────────────────────────────────────────────────────────────────────────

    @rule(zone=ZONE, ill=st.booleans())
    def a_canary_turns(self, zone: int, *, ill: bool) -> None:
        found = self.there.measured.ill
        found.add(self.zone(zone)) if ill else found.discard(self.zone(zone))

    @rule(pick=PICK)
    def a_node_is_cut_off_or_mended(self, pick: int) -> None:
        node = self.there.shape.nodes[pick % len(self.there.shape.nodes)]
        self.there.platform.set_reachable(node, node in self.cut)
        self.cut ^= {node}
        self.truth.outside.broken = True

    @rule(
        op=st.sampled_from(["weights", "weights", "restart", "rotation"]),
        how=st.sampled_from(["before", "after", "lost"]),
    )
    def the_platform_will_fail_a_call(self, op: str, how: When) -> None:
        self.there.platform.fail_next(op, how)

    # ── what holds ──────────────────────────────────────────────────────────────────────────────────────────

    @invariant()
    def what_was_promised_holds(self) -> None:
        self.truth.look()

    def teardown(self) -> None:
        """When nobody stands in the way any more, every run ends."""
        if self.world is None or sys.exc_info()[0] is not None:
            return
        self.the_halts_are_lifted()
        self.world.measured.ill.clear()
        for node in self.cut:
            self.world.platform.set_reachable(node, True)
        for run in self.world.active():
            self.act(lambda tx, id_=run.id: continue_run(tx, id_, by="ada"))  # type: ignore[misc]
        for _ in range(30):
            if ended(self.world.runs()) and not self.world.drills.standing():
                break
            self.world.run_on(60.0)
        self.truth.look()
        left = self.world.active()
        assert left == [], f"it never ends: {left}"
        assert (self.world.drills.standing(), self.world.drills.lost()) == ([], set())
