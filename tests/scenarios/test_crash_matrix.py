"""The crash matrix: workers that die, are overtaken, joined or forgotten, at every commit and every effect.

An ordinary run tries all points of zone-failover and a tenth of the others, always the same, and
fewer of what is the same code in another order. ``--crash-points all``, which is ``make
crash-matrix``, tries every one, lets the dying worker be a process that is killed, and says how
many were tried. The same with messages in a real Redis is in ``tests/integration/act``.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from controlplane.model.states import RunState
from tests.scenarios.stories import OWN, shipped
from tests.support.matrix import IN_A_COMMIT, Story, chosen, differences
from tests.support.rig import Crash, Rig

STORIES = [*OWN, *shipped()]
ENDS = {
    "a failure": RunState.FAILED,
    "a graph that fails": RunState.FAILED,
    "a loop that fails": RunState.FAILED,
    "a ladder": RunState.FAILED,
    **dict.fromkeys(("zone-failover", "zone-failback", "hung-replica"), RunState.SUCCEEDED),
    **dict.fromkeys(("node-quarantine", "scheduled-restart", "cache-prewarm"), RunState.SUCCEEDED),
    **dict.fromkeys(("shed-load", "readmit-load", "scale-out", "scale-in"), RunState.SUCCEEDED),
    **dict.fromkeys(("budget-freeze", "prometheus-blind"), RunState.SUCCEEDED),
}
"""How the stories end that must get somewhere, so that the matrix is about something."""

EFFECTLESS = {"cache-prewarm"}
"""Those that change nothing that the platform counts."""

KINDS_OF_POINTS = {IN_A_COMMIT, "after a commit", "before an effect", "after an effect"}
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # it forks at rest
every_story = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name.replace(" ", "-"))

Tell = Callable[[str], None]
Disturbed = Callable[[Rig, int], dict[str, Any]]


@pytest.fixture
def everything(request: pytest.FixtureRequest) -> bool:
    """Whether all points of all stories are asked for."""
    return bool(request.config.getoption("--crash-points") == "all")


@pytest.fixture
def tell(request: pytest.FixtureRequest, everything: bool) -> Tell:
    """Say what was tried, when all of it was asked for."""
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    capture = request.config.pluginmanager.get_plugin("capturemanager")

    def say(line: str) -> None:
        if everything and reporter is not None and capture is not None:
            with capture.global_and_fixture_disabled():
                reporter.write_line(f"\n{line}")

    return say


def in_an_ordinary_run(story: Story, *, everything: bool) -> None:
    """Leave out what is the same code as another story's, unless all is asked for."""
    if not everything and story not in OWN and story.name != "zone-failover":
        pytest.skip("tried with --crash-points all")


def no_differences(
    rig: Rig, expected: dict[str, Any], points: Sequence[str], tried: Sequence[int], disturbed: Disturbed
) -> None:
    """Tell the story once for each point, and fail at the first that comes out otherwise."""
    for at in tried:
        rig.renew()
        assert differences(expected, disturbed(rig, at)) == {}, f"disturbed {points[at - 1]}, point {at}"


@pytest.mark.timeout(900)
@every_story
def test_a_worker_that_dies_at_any_point_changes_nothing(
    tmp_path: Path, story: Story, everything: bool, tell: Tell
) -> None:
    rig = story.rig(tmp_path)
    expected, points = story.plain(rig)
    main = next(rows for rows in expected.values() if isinstance(rows, dict) and "state" in rows)
    if story in OWN or story.name in ENDS:
        assert main["state"] == ENDS.get(story.name, RunState.SUCCEEDED)
        kinds = {IN_A_COMMIT, "after a commit"} if story.name in EFFECTLESS else KINDS_OF_POINTS
        assert set(points) == kinds
    tried = chosen(story, points, 1 if everything or story.name == "zone-failover" else 0.1)
    no_differences(rig, expected, points, tried, story.killed_for_good if everything else story.killed)
    tell(f"{story.name} ({main['state']}): killed at {len(tried)} of {len(points)} points, no difference")


@pytest.mark.timeout(120)
def test_a_worker_process_that_is_killed_is_what_the_simulated_crash_stands_for(tmp_path: Path) -> None:
    story = next(story for story in STORIES if story.name == "zone-failover")
    rig = story.rig(tmp_path)
    expected, points = story.plain(rig)
    no_differences(rig, expected, points, chosen(story, points, 0.1), story.killed_for_good)
    with pytest.raises(AssertionError, match="nobody was killed"):
        story.killed_for_good(rig, len(points) + 100)


@pytest.mark.timeout(900)
@every_story
def test_a_worker_that_is_overtaken_at_any_point_changes_nothing(
    tmp_path: Path, story: Story, everything: bool, tell: Tell
) -> None:
    rig = story.rig(tmp_path)
    expected, points = story.plain(rig)
    tried = chosen(story, points, 1 if everything else 0.05, outside=True)
    no_differences(rig, expected, points, tried, story.overtaken)
    possible = len(chosen(story, points, 1, outside=True))
    tell(f"{story.name}: overtaken at {len(tried)} of {possible} points, no difference")


@pytest.mark.timeout(900)
@every_story
def test_a_second_worker_that_joins_at_any_point_changes_nothing(
    tmp_path: Path, story: Story, everything: bool, tell: Tell
) -> None:
    in_an_ordinary_run(story, everything=everything)
    rig = story.rig(tmp_path)
    expected, points = story.plain(rig)
    tried = chosen(story, points, 1 if everything else 0.02, outside=True)
    no_differences(rig, expected, points, tried, story.joined)
    possible = len(chosen(story, points, 1, outside=True))
    tell(f"{story.name}: joined at {len(tried)} of {possible} points, no difference")


@pytest.mark.timeout(900)
@every_story
def test_messages_that_are_lost_at_any_point_change_nothing(
    tmp_path: Path, story: Story, everything: bool, tell: Tell
) -> None:
    in_an_ordinary_run(story, everything=everything)
    rig = story.rig(tmp_path)
    expected, points = story.plain(rig)
    tried = chosen(story, points, 1 if everything else 0.02)
    no_differences(rig, expected, points, tried, story.forgotten)
    tell(f"{story.name}: messages lost at {len(tried)} of {len(points)} points, no difference")


@pytest.mark.timeout(300)
@every_story
def test_two_workers_that_race_for_every_message_double_nothing(
    tmp_path: Path, story: Story, everything: bool, tell: Tell
) -> None:
    in_an_ordinary_run(story, everything=everything)
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


def _restart_again(rig: Rig, target: str) -> None:
    """Do what a worker would that does not look first."""
    tag = next(write.by for write in rig.platform.writes() if write.op == "restart")
    assert tag is not None
    place = next(place for place, _ in rig.platform.topology("chat").replicas() if str(place) == target)
    tag = tag.model_copy(update={"key": f"{tag.key}/again"})
    rig.platform.restart_replica(place, expected_uid=None, reason="again", by=tag)
