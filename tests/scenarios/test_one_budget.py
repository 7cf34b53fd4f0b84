"""One blast radius for playbooks and drills together: the second zone has to wait, whoever took the first.

Two playbooks and a drill, in either order, on a fleet of which one zone may be out. What stands in the
way is said in numbers; what waits goes on when the first zone is back.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Refused
from controlplane.model.playbook import Playbook
from controlplane.model.policy import Policy
from controlplane.model.records import Decision, GuardVerdict, Run, Verdict
from controlplane.model.states import RunState
from tests.support.any_playbook import Shape
from tests.support.any_world import FusedMemory, World

ONE_ZONE = "2 of 3 zones would be out of service, the limit is 1"
ZONES = {zone: f"chat/local/{zone}" for zone in ("zone-a", "zone-b", "zone-c")}
LEAVE = {"id": "leave", "uses": "traffic.shift", "with": {"zone": "{{ incident.zone }}", "weight": 0}}
RETURN = {
    "id": "return",
    "uses": "traffic.restore",
    "with": {"zone": "{{ incident.zone }}", "stages": [100], "hold": "2s"},
}
GROUP = "service/{{ service.name }}"


def playbook(name: str, *steps: dict[str, Any], **spec: Any) -> Playbook:
    body = {"kind": "Playbook", "metadata": {"name": name}, "spec": {"steps": list(steps), **spec}}
    return Playbook.model_validate(body)


def leaving(name: str, conflict: str, **spec: Any) -> Playbook:
    return playbook(name, LEAVE, concurrency={"group": GROUP, "onConflict": conflict}, **spec)


FAST: dict[str, Any] = {"triggers": [{"type": "slo", "slo": "chat-success", "tiers": ["fast"], "by": "zone"}]}


@pytest.fixture(scope="module")
def database() -> Iterator[FusedMemory]:
    made = FusedMemory(VirtualClock())
    yield made
    made.close()


@pytest.fixture
def world(database: FusedMemory) -> World:
    limits = {"limits": {"maxZones": 1}, "storm": {"maxUnhealthy": 1.0}}
    policy = Policy.model_validate({"kind": "Policy", "metadata": {"name": "policy"}, "spec": limits})
    playbooks = [leaving("queues", "queue", **FAST), leaving("skips", "skip"), playbook("returns", RETURN)]
    return World(database, Shape(3, 1, 2), policy, playbooks)


def lost(world: World) -> set[str | None]:
    return {target.zone for target in world.drills.lost()}


def weights(world: World) -> dict[str, int]:
    return world.platform.weights("chat").weights


def as_it_is(world: World, run: Run) -> Run:
    with world.database.reading() as tx:
        return tx.runs.get(run.id)


def decided(world: World, zone: str) -> tuple[Decision, GuardVerdict]:
    """Return what the loop decides about a zone that fails its clients, and what the budget said to it."""
    world.decide(zone)
    with world.database.reading() as tx:
        decision = tx.decisions.list(playbook="queues")[0]
    return decision, next(each for each in decision.guards if each.guard == "blastRadius")


def test_while_a_drill_has_a_zone_another_is_refused_with_the_numbers_and_goes_on_after_it(
    world: World,
) -> None:
    drill = world.begin_drill("zone-a")
    world.run_on(2.0)
    assert lost(world) == {"zone-a"}
    answer = world.ask_for("queues", ZONES["zone-a"])  # the same zone counts once
    world.run_on(1.0)
    assert (as_it_is(world, answer).state, weights(world)["zone-a"]) == (RunState.SUCCEEDED, 0)

    with pytest.raises(Refused, match=ONE_ZONE):
        world.ask_for("skips", ZONES["zone-b"])
    decision, budget = decided(world, "zone-b")
    assert (decision.outcome, decision.run) == ("queued", None)
    assert (budget.verdict, budget.message, budget.values["zonesAfter"]) == (Verdict.WAIT, ONE_ZONE, 2)

    world.run_on(60.0)
    assert (as_it_is(world, drill).state, lost(world)) == (RunState.SUCCEEDED, set())
    assert decided(world, "zone-b")[0].outcome == "queued", "the zone is well, and still without traffic"
    world.ask_for("returns", ZONES["zone-a"])
    world.run_on(10.0)
    decision, budget = decided(world, "zone-b")
    assert (decision.outcome, budget.verdict) == ("run", Verdict.ALLOW)
    world.run_on(2.0)
    assert weights(world) == {"zone-a": 100, "zone-b": 0, "zone-c": 100}


def test_while_a_playbook_has_a_zone_a_drill_breaks_no_other_and_goes_on_when_it_is_back(
    world: World,
) -> None:
    world.ask_for("queues", ZONES["zone-b"])
    world.run_on(2.0)
    drill = world.begin_drill("zone-a")
    world.run_on(10.0)
    assert as_it_is(world, drill).waiting.startswith(f"waits for blast radius: {ONE_ZONE}")
    assert (lost(world), world.drills.standing()) == (set(), [])

    world.ask_for("returns", ZONES["zone-b"])
    world.run_on(6.0)
    assert (weights(world)["zone-b"], lost(world)) == (100, {"zone-a"})
    with pytest.raises(Refused, match=ONE_ZONE):
        world.ask_for("queues", ZONES["zone-c"])
    world.run_on(60.0)
    assert (as_it_is(world, drill).state, lost(world)) == (RunState.SUCCEEDED, set())


def test_of_two_playbooks_at_once_the_second_waits_if_it_says_queue_and_is_not_begun_if_it_says_skip(
    world: World,
) -> None:
    first = world.ask_for("queues", ZONES["zone-a"])
    with pytest.raises(Refused, match="of the group is active"):
        world.ask_for("skips", ZONES["zone-c"])
    second = world.ask_for("queues", ZONES["zone-b"])
    world.run_on(4.0)
    assert as_it_is(world, first).state is RunState.SUCCEEDED
    waits = as_it_is(world, second)
    assert (waits.state, waits.waiting) == (RunState.RUNNING, f"waits for blast radius: {ONE_ZONE}")
    assert weights(world) == {"zone-a": 0, "zone-b": 100, "zone-c": 100}

    person = {"zone-a": 100}
    world.platform.set_weights("chat", person, expected_version=None, by=None)
    world.run_on(6.0)
    assert as_it_is(world, second).state is RunState.SUCCEEDED
    assert weights(world) == {"zone-a": 100, "zone-b": 0, "zone-c": 100}
