"""The crash matrix: workers that die, are overtaken, joined or forgotten, at every commit and every effect.

An ordinary run tries all deaths in zone-failover and a tenth of those in the others, always the same,
and fewer of the rest. ``--crash-points all``, which is ``make crash-matrix``, tries every way at every
point of every playbook that is shipped, and says how many it tried. The same with messages in a real
Redis is in ``tests/integration/act``.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.model.action import Action
from controlplane.model.states import RunState
from tests.scenarios.stories import OWN, SHIPPED, shipped
from tests.support.branching import IN_A_COMMIT, Way
from tests.support.matrix import KILLED, WAYS, Story, chosen, differences
from tests.support.rig import Crash, Rig
from tests.support.scripted import Scripted

OTHERS = shipped()
STORIES = [*OWN, *OTHERS]
FAILS = {"a failure", "a graph that fails", "a loop that fails", "a ladder"}
"""Those that are told of a failure; every other one must succeed, so that the matrix is about something."""

KINDS_OF_POINTS = {IN_A_COMMIT, "after a commit", "before an effect", "after an effect"}
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # it forks at rest
every_story = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name.replace(" ", "-"))

Tell = Callable[[str], None]


@pytest.fixture
def everything(request: pytest.FixtureRequest) -> bool:
    """Whether all points of all stories are asked for."""
    return bool(request.config.getoption("--crash-points") == "all")


@pytest.fixture(scope="module")
def tell(request: pytest.FixtureRequest) -> Tell:
    """Say what was tried, when all of it was asked for."""
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    capture = request.config.pluginmanager.get_plugin("capturemanager")
    asked = request.config.getoption("--crash-points") == "all"

    def say(line: str) -> None:
        if asked and reporter is not None and capture is not None:
            with capture.global_and_fixture_disabled():
                reporter.write_line(f"\n{line}")

    return say


@pytest.fixture(scope="module")
def tried(tell: Tell) -> Iterator[Counter[str]]:
    """How many points were tried in each way, by this process; told at the end."""
    counts: Counter[str] = Counter()
    yield counts
    words = ", ".join(f"{count} {way}" for way, count in counts.items())
    tell(f"in all {counts.total()} points of {len(STORIES)} stories tried: {words}")


def share_of(way: Way, story: Story, *, everything: bool) -> float:
    """Return how many of a story's points are tried; what is the same code in another one is tried there."""
    if everything or (way is KILLED and story.name == "zone-failover"):
        return 1
    elsewhere = way in WAYS[2:] and story not in OWN and story.name != "zone-failover"
    return 0 if elsewhere else way.share


def main_rows(outcome: dict[str, Any]) -> dict[str, Any]:
    return next(rows for rows in outcome.values() if isinstance(rows, dict) and "state" in rows)


def used(rig: Rig) -> list[Action[Any]]:
    """Return the actions of all runs that there were."""
    with rig.database.reading() as tx:
        names = {step.uses for run in tx.runs.list() for step in tx.steps.list(run.id)}
    return [rig.actions.get(name) for name in names if not isinstance(rig.actions.get(name), Scripted)]


def test_every_playbook_that_is_shipped_has_a_story() -> None:
    files = {file.stem for file in SHIPPED.glob("*.yaml") if not file.name.endswith(".test.yaml")}
    assert {story.name for story in OTHERS} == files


@every_story
def test_an_undisturbed_story_gets_somewhere(tmp_path: Path, story: Story) -> None:
    rig = story.rig(tmp_path)
    expected, points = story.plain(rig)
    state = RunState.FAILED if story.name in FAILS else RunState.SUCCEEDED
    assert main_rows(expected)["state"] == state
    acts = any(action.reversible or not action.idempotent for action in used(rig))
    assert main_rows(expected)["undo"] or not acts, "it is told of what does nothing"
    outside = expected["effects"] or expected["messages"]
    assert set(points) == (KINDS_OF_POINTS if outside else {IN_A_COMMIT, "after a commit"})


@pytest.mark.timeout(1800)
@every_story
def test_a_worker_that_is_disturbed_at_any_point_changes_nothing(
    tmp_path: Path, story: Story, everything: bool, tell: Tell, tried: Counter[str]
) -> None:
    rig = story.rig(tmp_path)
    expected, points = story.plain(rig)
    shares = {way: share_of(way, story, everything=everything) for way in WAYS}
    wanted = {way: chosen(story, points, way, share) for way, share in shares.items() if share}
    found = story.told(rig, points, wanted)
    for at, way, outcome in found:
        assert differences(expected, outcome) == {}, f"{way.name} {points[at - 1]}, point {at}"
    counts = Counter(way.name for _, way, _ in found)
    assert counts == {way.name: len(some) for way, some in wanted.items()}
    tried.update(counts)
    words = ", ".join(f"{way} at {count}" for way, count in counts.items())
    tell(f"{story.name}: {words} of {len(points)} points, no difference")


@pytest.mark.timeout(900)
def test_a_worker_process_that_is_killed_and_one_that_dies_in_a_retelling_are_what_a_branch_stands_for(
    tmp_path: Path, everything: bool, tell: Tell, tried: Counter[str]
) -> None:
    story = next(story for story in STORIES if story.name == "zone-failover")
    rig = story.rig(tmp_path)
    expected, points = story.plain(rig)
    some = chosen(story, points, KILLED, share=1 if everything else 0.1)
    for at in some:
        for told in (story.killed_for_good, lambda rig, at: story.disturbed(rig, at, KILLED)):
            rig.renew()
            assert differences(expected, told(rig, at)) == {}, f"died {points[at - 1]}, point {at}"
    tried["killed by SIGKILL"] += len(some)
    tell(f"{story.name}: killed by SIGKILL at {len(some)} of {len(points)} points, no difference")
    rig.renew()
    with pytest.raises(AssertionError, match="nobody was killed"):
        story.killed_for_good(rig, len(points) + 100)
    rig.renew()
    with pytest.raises(AssertionError, match="nothing befell it"):
        story.disturbed(rig, len(points) + 100, KILLED)


@pytest.mark.timeout(300)
@every_story
def test_two_workers_that_race_for_every_message_double_nothing(
    tmp_path: Path, story: Story, everything: bool, tell: Tell
) -> None:
    if not everything and story not in OWN and story.name != "zone-failover":
        pytest.skip("the same code as in other stories: raced with --crash-points all")
    rig = story.rig(tmp_path)
    expected, _ = story.plain(rig)
    times = 10 if everything else 1
    for _ in range(times):
        rig.renew()
        assert differences(expected, story.raced(rig)) == {}
    tell(f"{story.name}: raced for {times} times, every message four times, no difference")


@pytest.mark.timeout(300)
def test_a_second_crash_soon_after_the_first_changes_nothing_either(tmp_path: Path) -> None:
    story = STORIES[0]
    rig = story.rig(tmp_path)
    expected, points = story.plain(rig)
    for at in range(2, len(points) - 6, 9):
        rig.renew()
        run = story.begin(rig)
        for point in (at, 4):
            rig.crash(point)
            with pytest.raises(Crash):
                rig.finish(run)
            rig.survive()
        rig.finish(run)
        assert differences(expected, story.outcome(rig, run)) == {}, f"died at {at}, and 4 points later"


# ── it can fail ────────────────────────────────────────────────────────────────────────────────────────────


def test_the_matrix_sees_an_effect_that_is_done_twice(tmp_path: Path) -> None:
    story = STORIES[0]
    rig = story.rig(tmp_path)
    expected, _ = story.plain(rig)
    rig.renew()
    run = story.begin(rig)
    rig.finish(run)
    (again, *_) = (write for write in rig.platform.writes() if write.op == "restart")
    _restart_again(rig, again.target)
    assert differences(expected, story.outcome(rig, run)) != {}


def test_a_branch_tells_what_befell_it_and_leaves_the_story_alone(tmp_path: Path) -> None:
    story = STORIES[0]
    rig = story.rig(tmp_path)
    expected, points = story.plain(rig)

    def meddle(rig: Rig, run: object) -> None:
        rig.platform.set_weights("chat", {"zone-b": 7}, expected_version=None, by=None)

    def break_(rig: Rig, run: object) -> None:
        msg = "it broke"
        raise AssertionError(msg)

    rig.renew()
    before = rig.clock.now()
    meddled = Way("meddled", meddle, share=1, dies=True)
    broken = Way("broken", break_, share=1)
    found = story.branches(rig, {at: [meddled, broken] for at in (2, len(points))})
    seen = [differences(expected, outcome).keys() for _, way, outcome in found if way is meddled]
    assert seen == [{"weights", "values"}, {"weights"}]
    assert [outcome for _, way, outcome in found if way is broken] == [
        {"broke": "AssertionError: it broke"}
    ] * 2
    assert rig.weights()["zone-b"] == 100
    assert (rig.clock.now() - before).total_seconds() < 60


def _restart_again(rig: Rig, target: str) -> None:
    """Do what a worker would that does not look first."""
    tag = next(write.by for write in rig.platform.writes() if write.op == "restart")
    assert tag is not None
    place = next(place for place, _ in rig.platform.topology("chat").replicas() if str(place) == target)
    tag = tag.model_copy(update={"key": f"{tag.key}/again"})
    rig.platform.restart_replica(place, expected_uid=None, reason="again", by=tag)
