"""`zone.quiet` against the platform in memory, with a context that holds no more than it asks for."""

from types import SimpleNamespace
from typing import Any

import pytest
from fleetward_action_example import QuietParameters, ZoneQuiet

from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import NotFound
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.platforms.memory import MemoryPlatform


def look(platform: MemoryPlatform, **with_: Any) -> Outcome:
    context: Any = SimpleNamespace(service=SimpleNamespace(name="chat"), port=lambda _: platform)
    return ZoneQuiet().run(QuietParameters.model_validate({"zone": "zone-a", **with_}), context)


def test_it_waits_for_the_last_request() -> None:
    platform = MemoryPlatform(VirtualClock())
    platform.set_requests("replica-a1-0", 3)
    assert look(platform, atMost=2) == Again(2.0, {}, "3 requests, 2 may be")

    platform.set_requests("replica-a1-0", 2)
    assert look(platform, atMost=2) == Done({"requests": 2})


def test_what_is_not_known_is_waited_for() -> None:
    platform = MemoryPlatform(VirtualClock())
    platform.set_reachable("node-a1", False)

    assert look(platform) == Again(2.0, {}, "of 2 replicas nothing is known")


def test_a_zone_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFound, match="zone-x"):
        look(MemoryPlatform(VirtualClock()), zone="zone-x")
