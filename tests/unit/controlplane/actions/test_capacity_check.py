"""`capacity.check`: the ratio, what it counts, and what it does not know."""

from pathlib import Path

import pytest

from controlplane.actions.capacity_check import CapacityCheck, demand_query
from controlplane.kernel.errors import NotFound, Unavailable
from controlplane.model.outcome import Done, Failed, FailureKind
from controlplane.platforms.memory import MemoryPlatform
from controlplane.platforms.port import Platform
from tests.support.steps import SERVICE, StepDriver


def check(*demand: float | Exception | None, **with_: object) -> StepDriver:
    step = StepDriver(CapacityCheck(), **{"without": "zone-a", "perReplica": 4, **with_})
    step.metrics.values = list(demand)
    return step


def test_the_demand_of_the_zones_that_stay_is_scaled_to_all_the_traffic() -> None:
    """16 requests in two of three equal zones mean 24 in all; eight replicas of four serve 32."""
    outcome = check(16.0).call()

    assert outcome == Done({"ratio": 1.333, "healthyReplicas": 8, "capacity": 32.0, "demand": 24.0})


def test_too_little_capacity_fails_for_good_and_shows_the_numbers() -> None:
    outcome = check(24.0).call()

    assert outcome == Failed(
        FailureKind.PERMANENT,
        "8 ready replicas in zone-b, zone-c serve 32 requests at once, 36.0 are to be expected without "
        "zone-a: ratio 0.89, under 1.05",
        {"ratio": 0.889, "healthyReplicas": 8, "capacity": 32.0, "demand": 36.0},
    )


def test_the_bound_can_be_set() -> None:
    assert isinstance(check(24.0, atLeast=0.8).call(), Done)
    assert isinstance(check(16.0, atLeast=1.4).call(), Failed)


def test_weights_tell_the_share_of_the_traffic_that_the_rest_has_now() -> None:
    step = check(16.0)
    step.set_weight(0)

    outcome = step.call()

    assert isinstance(outcome, Done)
    assert outcome.outputs["demand"] == 16.0


def test_replicas_that_load_or_are_cut_off_do_not_count() -> None:
    step = check(16.0)
    step.platform.stop_replica("replica-b1-0")
    step.platform.set_reachable("node-c2", False)

    outcome = step.call()

    assert outcome.outputs["healthyReplicas"] == 5  # type: ignore[union-attr]


def test_an_evacuated_zone_neither_serves_nor_counts() -> None:
    step = check(8.0)
    step.set_weight(0, "zone-b")

    outcome = step.call()

    assert isinstance(outcome, Failed)
    assert outcome.outputs == {"ratio": 1.0, "healthyReplicas": 4, "capacity": 16.0, "demand": 16.0}
    assert 'zone=~"zone-c"' in step.metrics.asked[0]


def test_a_dead_zone_hides_its_share_of_the_demand_from_nobody() -> None:
    """Zone-b has weight and no ready replica: zone-c alone tells what a third of the traffic takes."""
    step = check(8.0)
    for node in ("node-b1", "node-b2"):
        step.platform.set_reachable(node, False)

    outcome = step.call()

    assert outcome.outputs["demand"] == pytest.approx(24.0)  # type: ignore[union-attr]
    assert outcome.outputs["capacity"] == 16.0  # type: ignore[union-attr]


def test_without_any_other_zone_there_is_no_capacity() -> None:
    step = check(8.0)
    step.set_weight(0, "zone-b")
    step.set_weight(0, "zone-c")

    outcome = step.call()

    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.PERMANENT
    assert outcome.outputs["ratio"] == 0.0
    assert step.metrics.asked == []


def test_an_idle_service_has_a_finite_ratio() -> None:
    outcome = check(0.0).call()

    assert outcome.outputs["ratio"] == 32.0  # type: ignore[union-attr]


@pytest.mark.parametrize("unknown", [None, Unavailable("prometheus is away")])
def test_what_is_not_known_fails_and_a_retry_may_help(unknown: Exception | None) -> None:
    outcome = check(unknown).call()

    assert isinstance(outcome, Failed)
    assert outcome.kind is FailureKind.TRANSIENT
    assert outcome.outputs["ratio"] is None


@pytest.mark.parametrize("unknown", [None, Unavailable("prometheus is away")])
def test_what_is_not_known_passes_if_the_playbook_says_so(unknown: Exception | None) -> None:
    outcome = check(unknown, onUnknown="pass").call()

    assert outcome == Done({"ratio": None, "healthyReplicas": None, "capacity": None, "demand": None})


def test_a_fleet_that_cannot_be_read_is_not_known_either() -> None:
    step = check(16.0)
    step.platform.fail_next("topology", "before")

    assert isinstance(step.call(), Failed)


def test_a_zone_that_is_not_there_is_an_error_even_when_unknowns_pass() -> None:
    with pytest.raises(NotFound):
        check(16.0, without="zone-x", onUnknown="pass").call()


def test_the_demand_is_one_query_over_the_services_own_labels() -> None:
    assert demand_query(SERVICE, ["zone-b", "zone-c"], 30.0) == (
        'sum(avg_over_time(vllm:num_requests_running{service="chat",zone=~"zone-b|zone-c"}[30s])) + '
        'sum(avg_over_time(vllm:num_requests_waiting{service="chat",zone=~"zone-b|zone-c"}[30s]))'
    )


def test_without_a_number_the_platform_tells_what_each_replica_serves() -> None:
    step = check(16.0, perReplica=None)
    step.ports[Platform] = MemoryPlatform(step.clock, slots=5)

    assert step.call() == Done({"ratio": 1.667, "healthyReplicas": 8, "capacity": 40.0, "demand": 24.0})


def test_a_platform_that_does_not_tell_makes_it_unknown() -> None:
    step = check(16.0, perReplica=None)

    outcome = step.call()

    assert isinstance(outcome, Failed)
    assert "the platform does not tell what a replica serves: write `perReplica`" in outcome.message
    assert isinstance(check(16.0, perReplica=None, onUnknown="pass").call(), Done)


def test_no_shipped_playbook_says_what_a_replica_serves() -> None:
    """It is the fleet's to know: a number in a playbook would have to follow it by hand."""
    texts = [file.read_text("utf-8") for file in (Path(__file__).parents[4] / "playbooks").glob("*.yaml")]
    assert texts
    assert [text for text in texts if "perReplica" in text] == []
