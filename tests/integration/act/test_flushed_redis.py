"""Redis loses everything it holds, at every point of a run: the sweeper alone brings the run back.

The messages are the product's own, through a real server that is killed and started anew. The
engine, the fleet and the time are those of the crash matrix, which compares what comes of it.
An ordinary run tries a few points of zone-failover; ``--crash-points all`` tries them all.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.stories import shipped
from tests.support.matrix import FORGOTTEN, KILLED, chosen, differences
from tests.support.redis_mailbox import RedisMailbox, RedisServer
from tests.support.rig import Rig

pytestmark = pytest.mark.slow
STORY = next(story for story in shipped() if story.name == "zone-failover")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    found = RedisServer(tmp_path)
    yield found
    found.close()


@pytest.fixture
def mailbox(server: RedisServer) -> Iterator[RedisMailbox]:
    found = RedisMailbox(server)
    yield found
    found.close()


@pytest.fixture
def rig(tmp_path: Path, mailbox: RedisMailbox) -> Rig:
    made = STORY.rig(tmp_path)
    made.woken = mailbox
    made.renew()
    return made


@pytest.mark.timeout(900)
@pytest.mark.parametrize("dies", [False, True], ids=["the-worker-lives", "the-worker-dies"])
def test_redis_that_loses_everything_at_any_point_changes_nothing(
    rig: Rig, mailbox: RedisMailbox, request: pytest.FixtureRequest, dies: bool
) -> None:
    everything = request.config.getoption("--crash-points") == "all"
    expected, points = STORY.plain(rig)
    assert mailbox.delivered > 0
    way = KILLED if dies else FORGOTTEN
    tried = chosen(STORY, points, way, share=1 if everything else 0.05)
    for at in tried:
        rig.renew()
        found = STORY.disturbed(rig, at, way)
        assert differences(expected, found) == {}, f"lost {points[at - 1]}, point {at}"
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if everything and reporter is not None:
        reporter.write_line(f"\n{STORY.name}: Redis lost everything at {len(tried)} of {len(points)} points")
