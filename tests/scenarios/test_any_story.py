"""Stories of any fleet: what was promised holds, and where the engine is broken they find it.

An ordinary run tells the same few stories each time; ``--stories N`` tells that many new ones, which
is ``make stories STORIES=N``. Each of ``BREAKS`` takes one promise away from the engine, its guards or
the platform; one of a few stories must then come out otherwise. What shows itself in one story of
dozens only (a throttle, a concurrency group) is tried in scenarios of its own.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import Flaky
from hypothesis.stateful import run_state_machine_as_test

from controlplane.act import turn
from controlplane.kernel.clock import VirtualClock
from controlplane.store.journal import JournalRepository
from controlplane.store.undo import UndoRepository
from tests.scenarios.any_story import AnyStory
from tests.support.any_world import FusedMemory

STEPS = 30
FEW = 30
ENOUGH, SEEDS = 10, 8
"""Within so many stories of each of so many seeds each of these broken promises is found; mostly a few do.

The stories of one seed resemble each other, and are others where other modules are loaded: Hypothesis
draws from their constants. So no promise may hang on what one seed tells.
"""


@pytest.fixture(scope="module")
def database() -> Iterator[FusedMemory]:
    made = FusedMemory(VirtualClock())
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_whatever_happens_what_was_promised_holds(
    request: pytest.FixtureRequest, database: FusedMemory
) -> None:
    stories = request.config.getoption("--stories")
    AnyStory.database = database
    known = settings(
        max_examples=stories or FEW,
        derandomize=not stories,
        stateful_step_count=STEPS,
        deadline=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(AnyStory, settings=known)


# ── they can fail ──────────────────────────────────────────────────────────────────────────────────────────


def _without(event: str) -> Callable[..., None]:
    write = JournalRepository.write

    def instead(self: JournalRepository, run: str, told: str, *more: Any, **data: Any) -> None:
        if told != event:
            write(self, run, told, *more, **data)

    return instead


BREAKS: dict[str, tuple[object, str, Any]] = {
    "a halt is ignored": ("controlplane.act.prepare", "standing_in_way", lambda *_: None),
    "nobody is asked": (turn, "approval_due", lambda _: None),
    "no record is kept of what stood there": (UndoRepository, "intend", lambda *_, **__: None),
    "what goes out is not claimed": ("controlplane.act.prepare", "claim", lambda *_: None),
    "an effect is not told": (JournalRepository, "write", _without("effect")),
}


@pytest.mark.slow
@pytest.mark.parametrize("promise", BREAKS)
def test_a_broken_promise_is_found_within_a_few_stories(
    monkeypatch: pytest.MonkeyPatch, database: FusedMemory, promise: str
) -> None:
    owner, name, instead = BREAKS[promise]
    if isinstance(owner, str):
        monkeypatch.setattr(f"{owner}.{name}", instead)
    else:
        monkeypatch.setattr(owner, name, instead)
    with pytest.raises((AssertionError, Flaky)):
        tell_enough(database)


def test_the_same_stories_of_the_whole_engine_are_told_to_their_end(database: FusedMemory) -> None:
    assert tell(database, 3) >= 3


def tell_enough(database: FusedMemory) -> None:
    """Tell as many stories as it may take."""
    for number in range(SEEDS):
        tell(database, ENOUGH, number)


def tell(database: FusedMemory, most: int, number: int = 0) -> int:
    """Tell stories of one seed until one comes out otherwise, and return how many were told."""

    @seed(number)
    class Told(AnyStory):
        times: ClassVar[int] = 0

        def __init__(self) -> None:
            super().__init__()
            Told.times += 1

    Told.database = database
    once = settings(
        max_examples=most,
        stateful_step_count=STEPS,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Told, settings=once)
    return Told.times
