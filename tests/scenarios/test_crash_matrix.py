"""The crash matrix: a worker dies, or is stopped and overtaken, at every commit and every effect.

An ordinary run tries all points of zone-failover and a tenth of the others, always the same
(half as many for the overtaken, who are the same code in another order);
``--crash-points all``, which is ``make crash-matrix``, tries every one and says how many.
"""

from collections.abc import Callable
from pathlib import Path

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
    **dict.fromkeys(
        ("zone-failover", "zone-failback", "hung-replica", "shed-load", "readmit-load"), RunState.SUCCEEDED
    ),
}
"""How the stories end that must get somewhere, so that the matrix is about something."""

KINDS_OF_POINTS = {IN_A_COMMIT, "after a commit", "before an effect", "after an effect"}
every_story = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name.replace(" ", "-"))


@pytest.fixture
def everything(request: pytest.FixtureRequest) -> bool:
    """Whether all points of all stories are asked for."""
    return bool(request.config.getoption("--crash-points") == "all")


@pytest.fixture
def tell(request: pytest.FixtureRequest, everything: bool) -> Callable[[str], None]:
    """Say what was tried, when all of it was asked for."""
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    capture = request.config.pluginmanager.get_plugin("capturemanager")

    def say(line: str) -> None:
        if everything and reporter is not None and capture is not None:
            with capture.global_and_fixture_disabled():
                reporter.write_line(f"\n{line}")

    return say


@pytest.mark.timeout(900)
@every_story
def test_a_worker_that_dies_at_any_point_changes_nothing(
    tmp_path: Path,
    story: Story,
    everything: bool,
    tell: Callable[[str], None],
) -> None:
    rig = story.rig(tmp_path)
    expected, points = story.plain(rig)
    main = next(rows for rows in expected.values() if isinstance(rows, dict) and "state" in rows)
    if story in OWN or story.name in ENDS:
        assert main["state"] == ENDS.get(story.name, RunState.SUCCEEDED)
        assert set(points) == KINDS_OF_POINTS
    tried = chosen(story, points, 1 if everything or story.name == "zone-failover" else 0.1)
    for at in tried:
        rig.renew()
        found = story.killed(rig, at)
        assert differences(expected, found) == {}, f"died {points[at - 1]}, point {at}"
    tell(f"{story.name} ({main['state']}): died at {len(tried)} of {len(points)} points, no difference")


@pytest.mark.timeout(900)
@every_story
def test_a_worker_that_is_overtaken_at_any_point_changes_nothing(
    tmp_path: Path,
    story: Story,
    everything: bool,
    tell: Callable[[str], None],
) -> None:
    rig = story.rig(tmp_path)
    expected, points = story.plain(rig)
    tried = chosen(story, points, 1 if everything else 0.05, overtaken=True)
    for at in tried:
        rig.renew()
        found = story.overtaken(rig, at)
        assert differences(expected, found) == {}, f"stopped {points[at - 1]}, point {at}"
    possible = len(chosen(story, points, 1, overtaken=True))
    tell(f"{story.name}: overtaken at {len(tried)} of {possible} points, no difference")


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
