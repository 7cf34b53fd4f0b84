"""Stories told by hand, one for each promise: the whole engine keeps it, and a broken one is found guilty.

What comes at random (`tests.scenarios.test_any_story`) meets some broken promises in one story of
hundreds. Here each has a story that is always the same, told by the same rules and judged by the same
truth. On the whole engine it ends as it should. Each of ``BREAKS`` takes a promise away from the engine,
its guards, an action or the platform; then the check of that promise, and no other, must say so.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from controlplane.act import turn
from controlplane.act.context import StepContext
from controlplane.act.engine import Turn
from controlplane.actions import weights
from controlplane.actions.evidence import Evidence
from controlplane.actions.renewal import Renewal
from controlplane.decide import guards
from controlplane.kernel.clock import VirtualClock
from controlplane.model.action import UndoRecord
from controlplane.model.outcome import Again
from controlplane.model.playbook import Playbook
from controlplane.model.policy import Policy
from controlplane.model.records import GuardVerdict, Verdict
from controlplane.model.topology import WriteTag
from controlplane.platforms.memory.journal import Journal
from controlplane.store.journal import JournalRepository
from controlplane.store.runs import RunRepository
from controlplane.store.undo import UndoRepository
from tests.scenarios.any_story import AnyStory
from tests.support.any_playbook import Shape
from tests.support.any_world import FusedMemory

Happening = Callable[[AnyStory], object]
Patch = tuple[object, str, Any]


@dataclass(frozen=True)
class Directed:
    """A story that is always the same.

    ``ends``: how its runs end, the oldest first. ``tells``: an event of a journal without which the
    story would have missed what it is about.
    """

    playbooks: Sequence[Playbook]
    happenings: Sequence[Happening]
    ends: Sequence[str]
    tells: str


@dataclass(frozen=True)
class Break:
    """A promise taken away: the story that shows it, what is broken, and which check says what of it."""

    story: str
    patches: Sequence[Patch]
    found: str


# ── what happens ───────────────────────────────────────────────────────────────────────────────────────────

WAIT: dict[str, Any] = {"id": "wait", "uses": "wait"}
FAIL: dict[str, Any] = {"id": "fail", "uses": "fail"}
RESTART: dict[str, Any] = {"id": "restart", "uses": "replica.restart", "with": {"replica": "replica-b1-0"}}

BEFORE_THE_EFFECT, AFTER_THE_EFFECT = 5, 6
"""The points of a first turn whose first step makes an effect: two commits pass before that."""


def playbook(*steps: dict[str, Any], name: str = "one", **spec: Any) -> Playbook:
    document = {"kind": "Playbook", "metadata": {"name": name}, "spec": {"steps": list(steps), **spec}}
    return Playbook.model_validate(document)


def weight_of(zone: str, weight: int, **more: Any) -> dict[str, Any]:
    return {"id": "shift", "uses": "traffic.shift", "with": {"zone": zone, "weight": weight}, **more}


def starts(name: str = "one", zone: int = 1) -> Happening:
    return lambda story: story.somebody_starts_one(name, zone)


def works(story: AnyStory) -> None:
    """A worker takes the first run as far as it goes."""
    story.a_worker_gets_a_message(0, 0)


def moments_pass(story: AnyStory) -> None:
    story.time_passes_and_nobody_works(0.5)


def goes_on(story: AnyStory) -> None:
    story.things_go_on(0, 3.0)


def is_looked_at(story: AnyStory) -> None:
    """Everything due was done: what goes on says what it waits for."""
    story.truth.rest()


def rests(story: AnyStory) -> None:
    story.things_come_to_rest(0)


STORIES: dict[str, Directed] = {
    "two runs of a group": Directed(
        [playbook(WAIT, concurrency={"group": "g", "onConflict": "queue"})],
        [starts(), moments_pass, starts(zone=2), goes_on, rests],
        ["succeeded", "succeeded"],
        "run.waits",
    ),
    "a playbook asked for three times, once within its throttle": Directed(
        [playbook(WAIT, throttle={"onceWithin": "40s", "groupBy": ["service"]})],
        [starts(), rests, starts(zone=2), rests, rests, starts(zone=3), rests],
        ["succeeded", "succeeded"],
        "run.succeeded",
    ),
    "a worker that dies right after a restart": Directed(
        [playbook(RESTART)],
        [starts(), lambda story: story.a_worker_dies(0, 0, AFTER_THE_EFFECT), rests, rests],
        ["succeeded"],
        "step.interrupted",
    ),
    "two runs that would take two zones out": Directed(
        [playbook(weight_of("zone-a", 0)), playbook(weight_of("zone-b", 0, timeout="6s"), name="two")],
        [starts(), moments_pass, starts("two", 2), rests],
        ["succeeded", "failed"],
        "guard.wait",
    ),
    "a person who changes what a run has changed": Directed(
        [playbook(weight_of("zone-a", 40), WAIT, FAIL)],
        [starts(), works, lambda story: story.somebody_sets_a_weight(0, 60), rests],
        ["failed"],
        "undo.foreign",
    ),
    "a zone that is ill when its users would be sent back": Directed(
        [playbook(weight_of("zone-a", 0), WAIT, FAIL)],
        [starts(), works, lambda story: story.a_canary_turns(0, ill=True), rests],
        ["failed"],
        "undo.withheld",
    ),
    "a worker that comes back when its run was cancelled": Directed(
        [playbook(weight_of("zone-a", 0), WAIT)],
        [
            starts(),
            lambda story: story.a_worker_is_stopped_for_a_while(0, 0, BEFORE_THE_EFFECT, "cancelled"),
            rests,
        ],
        ["cancelled"],
        "fence.shown",
    ),
    "a step that takes its time": Directed(
        [playbook(WAIT, weight_of("zone-a", 0))],
        [starts(), works, is_looked_at, goes_on, rests],
        ["succeeded"],
        "effect",
    ),
    "a halt in the middle of a run": Directed(
        [playbook(WAIT, weight_of("zone-a", 0))],
        [starts(), works, AnyStory.somebody_halts, rests, AnyStory.the_halts_are_lifted, rests],
        ["succeeded"],
        "step.blocked",
    ),
    "a run that people must approve": Directed(
        [playbook(WAIT, approval={"timeout": "1m", "onTimeout": "deny"})],
        [starts(), goes_on, lambda story: story.somebody_decides("approved"), rests],
        ["succeeded"],
        "approval.requested",
    ),
}

# ── what is broken ─────────────────────────────────────────────────────────────────────────────────────────


def _deaf_to(guard: str) -> Callable[..., tuple[GuardVerdict, ...]]:
    judge = guards.judge

    def instead(*case: Any) -> tuple[GuardVerdict, ...]:
        allowed = {"verdict": Verdict.ALLOW}
        return tuple(
            said.model_copy(update=allowed) if said.guard == guard else said for said in judge(*case)
        )

    return instead


def _each_attempt_its_own_key() -> Callable[..., AbstractContextManager[WriteTag]]:
    effect = StepContext.effect
    return lambda self, change, part="": effect(self, change, f"{part}.{self.attempt}")


def _without(event: str) -> Callable[..., None]:
    write = JournalRepository.write

    def instead(self: JournalRepository, run: str, told: str, *more: Any, **data: Any) -> None:
        if told != event:
            write(self, run, told, *more, **data)

    return instead


def _in_ten_years(now: Turn, step: object) -> datetime:
    return now.now + timedelta(days=3650)


ALLOWED = GuardVerdict(guard="blastRadius", verdict=Verdict.ALLOW, message="nobody has counted", values={})
GOOD = Evidence(good=True, why="nobody has looked")

BREAKS = {
    "the group is ignored": Break(
        "two runs of a group",
        [(RunRepository, "ahead_in_group", lambda *_: None)],
        "_one_of_a_group:",
    ),
    "nobody wakes the next of a group": Break(
        "two runs of a group",
        [(RunRepository, "wake_next", lambda *_: None)],
        "_waits_for_something:",
    ),
    "the throttle is ignored": Break(
        "a playbook asked for three times, once within its throttle",
        [(guards, "judge", _deaf_to("throttle"))],
        "_throttled:",
    ),
    "an effect is done twice": Break(
        "a worker that dies right after a restart",
        [
            (Renewal, "observe", lambda *_: Again(0.0, {}, "whatever has happened, it begins anew")),
            (StepContext, "effect", _each_attempt_its_own_key()),
        ],
        "one_each:",
    ),
    "the blast radius is ignored": Break(
        "two runs that would take two zones out",
        [("controlplane.act.claims", "blast_radius", lambda *_, **__: ALLOWED)],
        "2 zones are out at the platform",
    ),
    "what goes out is not claimed": Break(
        "two runs that would take two zones out",
        [("controlplane.act.prepare", "claim", lambda *_: None)],
        "is taken out and not claimed",
    ),
    "an undo goes over what a person did": Break(
        "a person who changes what a run has changed",
        [(UndoRecord, "is_ours", lambda *_: True)],
        "taken_back_from_us:",
    ),
    "an undo sends users into harm": Break(
        "a zone that is ill when its users would be sent back",
        [(weights, "canary_of", lambda *_: GOOD)],
        "sends users where the canary fails",
    ),
    "nobody shows the platform a fence": Break(
        "a worker that comes back when its run was cancelled",
        [(turn, "fence_due", lambda _: None)],
        "came after fence",
    ),
    "the platform ignores fences": Break(
        "a worker that comes back when its run was cancelled",
        [(Journal, "see", lambda *_: None)],
        "came after fence",
    ),
    "a step that waits is never called again": Break(
        "a step that takes its time",
        [(turn, "_due", _in_ten_years)],
        "it never ends",
    ),
    "a run does not say what it waits for": Break(
        "a step that takes its time",
        [(turn, "_what_for", lambda *_: "soon")],
        "_waits_for_something:",
    ),
    "a halt is ignored": Break(
        "a halt in the middle of a run",
        [("controlplane.act.prepare", "standing_in_way", lambda *_: None)],
        "_nothing_starts:",
    ),
    "nobody is asked": Break(
        "a run that people must approve",
        [(turn, "approval_due", lambda _: None)],
        "_approved:",
    ),
    "no record is kept of what stood there": Break(
        "a step that takes its time",
        [(UndoRepository, "intend", lambda *_, **__: None)],
        "can_be_taken_back:",
    ),
    "an effect is not told": Break(
        "a step that takes its time",
        [(JournalRepository, "write", _without("effect"))],
        "told:",
    ),
}

# ── they are told ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def database() -> Iterator[FusedMemory]:
    made = FusedMemory(VirtualClock())
    yield made
    made.close()


def tell(database: FusedMemory, story: Directed) -> AnyStory:
    """Tell it to its end, and look after each thing that happens whether what was promised holds."""
    AnyStory.database = database
    told = AnyStory()
    policy = {"limits": {"maxZones": 1}, "storm": {"maxUnhealthy": 1.0, "allZonesBad": False}}
    document = {"kind": "Policy", "metadata": {"name": "policy"}, "spec": policy}
    told.make_world(Shape(), Policy.model_validate(document), story.playbooks)
    for happens in story.happenings:
        happens(told)
        told.what_was_promised_holds()
    told.teardown()
    return told


@pytest.mark.parametrize("name", STORIES)
def test_the_whole_engine_keeps_its_promise(database: FusedMemory, name: str) -> None:
    story = STORIES[name]
    world = tell(database, story).there
    runs = world.runs()
    assert [run.state.value for run in runs] == list(story.ends)
    with database.reading() as tx:
        told = {line.event for run in runs for line in tx.journal.list(run.id)}
    assert story.tells in told


@pytest.mark.parametrize("promise", BREAKS)
def test_a_broken_promise_is_found_by_its_check(
    monkeypatch: pytest.MonkeyPatch, database: FusedMemory, promise: str
) -> None:
    broken = BREAKS[promise]
    for owner, name, instead in broken.patches:
        if isinstance(owner, str):
            monkeypatch.setattr(f"{owner}.{name}", instead)
        else:
            monkeypatch.setattr(owner, name, instead)
    with pytest.raises(AssertionError) as raised:
        tell(database, STORIES[broken.story])
    said = f"{raised.traceback[-1].name}: {raised.value}"
    assert broken.found in said


def test_every_story_shows_a_promise() -> None:
    assert {broken.story for broken in BREAKS.values()} == STORIES.keys()
