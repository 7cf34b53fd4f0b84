"""The blast-radius budget: one union over runs and drills, counts and per cents, never worse."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.decide.blast import blast_radius, reach
from controlplane.model.action import Dimension, Touch
from controlplane.model.base import Quantity
from controlplane.model.playbook import Limits
from controlplane.model.records import GuardVerdict, OutOfService, Verdict
from controlplane.model.target import Target
from tests.unit.controlplane.decide.fleet import AT, at, topology

ONE_ZONE = Limits(max_zones=Quantity.parse(1), min_healthy=Quantity.parse("50%"))


def held(target: Target, holder: str = "run-other") -> OutOfService:
    return OutOfService(target=str(target), dimension=Dimension.TRAFFIC, holder=holder, since=AT)


def judge(
    *targets: Target,
    out: tuple[OutOfService, ...] = (),
    limits: Limits = ONE_ZONE,
    dead: tuple[Target, ...] = (),
) -> GuardVerdict:
    touches = [Touch(target, Dimension.TRAFFIC) for target in targets]
    return blast_radius(touches, out, topology(dead), [limits], holder="run-mine")


def test_one_zone_fits_and_says_what_stays() -> None:
    verdict = judge(at("a"))
    assert verdict.verdict is Verdict.ALLOW
    assert verdict.values["healthyAfter"] == 8
    assert verdict.values["zonesAfter"] == 1


def test_a_second_zone_waits_for_the_first_with_numbers() -> None:
    verdict = judge(at("b"), out=(held(at("a")),))
    assert verdict.verdict is Verdict.WAIT
    assert verdict.message.startswith("2 of 3 zones would be out of service, the limit is 1")
    assert verdict.values["heldByOthers"] == [f"{at('a')} by run-other"]


def test_two_zones_at_once_are_refused_because_they_can_never_fit() -> None:
    assert judge(at("a"), at("b")).verdict is Verdict.REFUSE


def test_the_fail_over_that_answers_a_drill_is_the_same_zone() -> None:
    drill = (held(at("a/a1"), "fault-1"), held(at("a/a2"), "fault-1"))
    verdict = judge(at("a"), out=drill, dead=(at("a"),))
    assert verdict.verdict is Verdict.ALLOW
    assert verdict.values["outAfter"] == [str(at("a"))]


def test_both_nodes_of_a_zone_count_as_the_zone() -> None:
    verdict = judge(at("b/b2"), out=(held(at("a")), held(at("b/b1"))))
    assert verdict.verdict is Verdict.WAIT
    assert verdict.values["zonesAfter"] == 2


def test_a_replica_in_an_evacuated_zone_costs_nothing_more() -> None:
    verdict = judge(at("a/a1/0"), out=(held(at("a")),))
    assert verdict.message == "nothing more goes out of service"


def test_min_healthy_counts_what_is_dead_without_a_claim() -> None:
    verdict = judge(at("b"), dead=(at("a"),))
    assert verdict.verdict is Verdict.REFUSE
    assert "4 of 12 replicas would stay healthy, 50% must" in verdict.message


def test_evacuating_what_is_dead_already_is_not_refused_for_health() -> None:
    assert judge(at("a"), dead=(at("a"), at("b"))).verdict is Verdict.ALLOW


def test_limits_in_per_cent_round_down() -> None:
    limits = Limits(max_replicas=Quantity.parse("20%"))
    out = (held(at("a/a1/0")), held(at("b/b1/0")))
    assert judge(at("c/c1/0"), out=out, limits=limits).verdict is Verdict.WAIT
    assert judge(at("c/c1/0"), out=out[:1], limits=limits).verdict is Verdict.ALLOW


def test_giving_back_is_never_refused() -> None:
    touch = Touch(at("a"), Dimension.TRAFFIC, returns=True)
    verdict = blast_radius([touch], (held(at("a")), held(at("b"))), topology(), [ONE_ZONE], holder="run-mine")
    assert verdict.verdict is Verdict.ALLOW


def test_a_protected_target_is_refused_from_above_and_below() -> None:
    touches = [Touch(at("a/a1/0"), Dimension.CAPACITY)]
    verdict = blast_radius(touches, (), topology(), [], holder="r", protected=[str(at("a"))])
    assert verdict.verdict is Verdict.REFUSE
    assert verdict.values["protected"] == [str(at("a"))]


FLEET = topology()
ANY = st.sets(st.sampled_from(FLEET.targets()))


@settings(max_examples=50)
@given(ANY, ANY)
def test_more_out_of_service_never_leaves_more_healthy(some: set[Target], more: set[Target]) -> None:
    assert reach(some | more, FLEET).healthy <= reach(some, FLEET).healthy


@settings(max_examples=50)
@given(ANY)
def test_what_is_out_is_counted_once(some: set[Target]) -> None:
    out = reach(some, FLEET).out
    assert not [one for one in out for other in out if one != other and one.overlaps(other)]


ONE_REPLICA = Limits(max_replicas=Quantity.parse(1), min_healthy=Quantity.parse("50%"))


def test_a_replica_inside_an_evacuated_zone_is_nothing_more_whoever_else_is_out() -> None:
    out = (held(at("a")), held(at("b/b1/0")))
    verdict = judge(at("a/a1/0"), out=out, limits=ONE_REPLICA)
    assert (verdict.verdict, verdict.message) == (Verdict.ALLOW, "nothing more goes out of service")


def test_those_inside_an_evacuated_zone_do_not_use_up_a_playbooks_replicas() -> None:
    inside = tuple(held(at(f"a/a1/{index}")) for index in (0, 1))
    assert judge(at("b/b1/0"), out=(held(at("a")), *inside), limits=ONE_REPLICA).verdict is Verdict.ALLOW
    assert judge(at("b/b1/0"), out=inside[:1], limits=ONE_REPLICA).verdict is Verdict.WAIT


def test_a_zone_with_a_replica_out_already_is_one_zone_and_no_replica() -> None:
    verdict = judge(
        at("a"),
        out=(held(at("a/a1/0")),),
        limits=Limits(max_zones=Quantity.parse(1), max_replicas=Quantity.parse(1)),
    )
    assert verdict.verdict is Verdict.ALLOW
    assert verdict.values["outAfter"] == [str(at("a"))]
