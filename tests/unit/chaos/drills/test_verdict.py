"""A drill's verdict follows from its clients' record, and never gets better by worse requests."""

import math
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.drills.truth import Aim, Request, Truth
from chaos.drills.verdict import Course, Judgement, judge, mitigation, tokens_kept
from controlplane.model.report import DrillVerdict
from tests.unit.chaos.drills.rows import START, ZONES, opened, refused, request, slow, traffic, truth

INJECTED, SHIFTED, REVERTED, RESTORED = 30.0, 40.0, 75.0, 110.0
COURSE = Course(
    aim=Aim(zones=("zone-b",)),
    within=30.0,
    restored_within=180.0,
    steady_from=START + 10,
    armed_at=START + INJECTED - 1,
    injected_at=START + INJECTED,
    judged_at=START + REVERTED,
    restored_from=START + RESTORED,
    ended_at=START + 170,
    zone_shares=dict.fromkeys(ZONES, 1 / 3),
)
ORDER = [DrillVerdict.FAILED, DrillVerdict.PASSED]


def without_b(at: float) -> Iterable[str]:
    return ("zone-a", "zone-c") if SHIFTED <= at < RESTORED else ZONES


def broken_b(one: Request, at: float) -> Request:
    """Requests to zone-b are refused while the fault stands."""
    return refused(one) if one.zone == "zone-b" and INJECTED <= at < REVERTED else one


def drill(shifted: float = SHIFTED) -> list[Request]:
    def zones(at: float) -> Iterable[str]:
        return ("zone-a", "zone-c") if shifted <= at < RESTORED else ZONES

    return traffic(180, zones, broken_b)


def nobody_acts() -> list[Request]:
    return traffic(180, change=broken_b)


def verdict_of(rows: Iterable[Request], course: Course = COURSE) -> Judgement:
    return judge(truth(rows), course)


def test_a_drill_passes_when_the_zone_is_left_in_time_and_gets_its_traffic_back() -> None:
    judgement = verdict_of(drill())
    assert judgement.verdict == DrillVerdict.PASSED
    assert judgement.mitigated_at == pytest.approx(START + SHIFTED, abs=0.35)
    assert judgement.recovered_at == pytest.approx(START + RESTORED, abs=0.2)


def test_observing_only_fails_on_the_yield() -> None:
    judgement = verdict_of(nobody_acts())
    assert judgement.verdict == DrillVerdict.FAILED
    assert judgement.mitigated_at is None
    assert "not mitigated" in judgement.reasons[0]


def test_the_fault_s_end_is_no_mitigation() -> None:
    healed_by_itself = traffic(180, lambda at: ZONES if at < REVERTED else ("zone-a", "zone-c"), broken_b)
    assert verdict_of(healed_by_itself).mitigated_at is None


def test_leaving_the_zone_without_serving_the_clients_is_no_mitigation() -> None:
    rows = traffic(
        180,
        without_b,
        lambda one, at: refused(one) if INJECTED <= at < REVERTED and one.seq % 9 == 0 else one,
    )
    assert verdict_of(rows).mitigated_at is None


def test_mitigation_later_than_allowed_fails_and_says_by_how_much() -> None:
    judgement = verdict_of(drill(shifted=62.0))
    assert judgement.verdict == DrillVerdict.FAILED
    assert judgement.mitigated_at == pytest.approx(START + 62, abs=0.35)
    assert judgement.reasons[0] == "mitigated 31.9 s after injection, 30 s were allowed"


def test_never_giving_the_zone_its_traffic_back_fails() -> None:
    rows = traffic(180, lambda at: ZONES if at < SHIFTED else ("zone-a", "zone-c"), broken_b)
    judgement = verdict_of(rows)
    assert judgement.recovered_at is None
    assert judgement.verdict == DrillVerdict.FAILED


def test_weights_that_never_became_original_fail_whatever_the_rows_say() -> None:
    judgement = verdict_of(drill(), replace(COURSE, restored_from=None))
    assert judgement.verdict == DrillVerdict.FAILED


def test_a_quarter_of_the_traffic_is_not_all_of_it() -> None:
    def zones(at: float) -> Iterable[str]:
        step = ("zone-a", "zone-c", "zone-a", "zone-c", "zone-a", "zone-c", "zone-a", "zone-c", "zone-b")
        return without_b(at) if at < RESTORED else step if at < 130 else ZONES

    judgement = verdict_of(traffic(180, zones, broken_b))
    assert judgement.recovered_at == pytest.approx(START + 125, abs=5)


def test_a_fault_before_which_nothing_was_steady_is_inconclusive() -> None:
    rows = [refused(row) if row.planned_at < START + 25 and row.seq % 5 == 0 else row for row in drill()]
    judgement = verdict_of(rows)
    assert judgement.verdict == DrillVerdict.INCONCLUSIVE
    assert "no steady state before" in judgement.reasons[0]


def test_requests_that_the_fault_itself_broke_do_not_unsettle_the_time_before() -> None:
    def caught(one: Request, at: float) -> Request:
        in_flight = one.zone == "zone-b" and INJECTED - 2.2 < at < INJECTED
        cut = {"outcome": "error", "ended_at": START + INJECTED, "tokens": 40}
        return one.model_copy(update=cut) if in_flight else broken_b(one, at)

    course = replace(COURSE, steady_from=START + INJECTED - 5)
    assert verdict_of(traffic(180, without_b, caught), course).verdict == DrillVerdict.PASSED


@pytest.mark.parametrize("span", [(50.0, 55.5), (15.0, 21.0)])
def test_a_gap_in_the_truth_is_inconclusive(span: tuple[float, float]) -> None:
    rows = [row for row in drill() if not span[0] <= row.planned_at - START < span[1]]
    judgement = verdict_of(rows)
    assert judgement.verdict == DrillVerdict.INCONCLUSIVE
    assert "gap" in judgement.reasons[0]


def test_arrivals_that_were_late_are_inconclusive() -> None:
    rows = [
        row.model_copy(update={"sent_at": row.planned_at + (0.2 if row.seq % 50 == 0 else 0.0)})
        for row in drill()
    ]
    judgement = verdict_of(rows)
    assert judgement.verdict == DrillVerdict.INCONCLUSIVE
    assert "late at p99" in judgement.reasons[0]


def test_a_stopped_drill_is_aborted_whatever_was_measured() -> None:
    judgement = verdict_of(drill(), replace(COURSE, aborted="effective share under 0.4 for 10s"))
    assert judgement.verdict == DrillVerdict.ABORTED


def test_what_is_left_standing_fails_a_drill_that_would_have_passed() -> None:
    judgement = verdict_of(drill(), replace(COURSE, leftovers=("fault f on node-b1",)))
    assert judgement.verdict == DrillVerdict.FAILED
    assert judgement.reasons == ("left standing: fault f on node-b1",)


def test_a_broken_hypothesis_fails_a_drill_that_would_have_passed() -> None:
    judgement = verdict_of(drill(), replace(COURSE, broken=("a first token came after 12 s",)))
    assert judgement.verdict == DrillVerdict.FAILED


def test_a_fault_that_never_took_effect_is_inconclusive() -> None:
    judgement = verdict_of(drill(), replace(COURSE, injected_at=None))
    assert judgement.verdict == DrillVerdict.INCONCLUSIVE


def test_requests_to_a_new_incarnation_are_not_requests_to_the_broken_one() -> None:
    def restarted(one: Request, at: float) -> Request:
        new = one.zone == "zone-b" and at >= SHIFTED
        return (
            one.model_copy(update={"replica_uid": "zone-b-0-second"})
            if new
            else broken_until_restart(one, at)
        )

    def broken_until_restart(one: Request, at: float) -> Request:
        return refused(one) if one.zone == "zone-b" and at >= INJECTED else one

    course = replace(COURSE, aim=Aim(uids=("zone-b-0-first",)))
    judgement = verdict_of(traffic(180, change=restarted), course)
    assert judgement.mitigated_at == pytest.approx(START + SHIFTED, abs=0.3)


def test_while_requests_are_open_mitigation_is_not_claimed_before_it_is_certain() -> None:
    now = START + SHIFTED + 10.5
    rows = [
        opened(row) if row.ended_at and row.ended_at > now else row for row in drill() if row.sent_at <= now
    ]
    moment = mitigation(Truth(rows, now=now), COURSE.aim, since=START + INJECTED, until=START + REVERTED)
    assert moment.at is None
    assert moment.earliest == pytest.approx(START + SHIFTED, abs=0.3)


def test_a_target_that_is_still_hit_rules_mitigation_out_up_to_the_last_hit() -> None:
    now = START + INJECTED + 32
    rows = [row for row in nobody_acts() if row.sent_at <= now]
    moment = mitigation(Truth(rows, now=now), COURSE.aim, since=START + INJECTED, until=START + REVERTED)
    assert moment.earliest == pytest.approx(now, abs=0.5)


def test_kept_tokens_count_arrivals_of_two_minutes_against_what_they_would_have_yielded() -> None:
    kept = tokens_kept(truth(drill()), COURSE)
    assert kept is not None
    lost = 10 * 10 / 3
    assert kept.expected == pytest.approx(120 * 10 * 100)
    assert kept.ratio == pytest.approx(1 - lost / 1200, abs=0.002)


def test_arrivals_that_were_planned_and_never_sent_count_as_lost() -> None:
    kept = tokens_kept(truth(drill()), COURSE, planned=240_000)
    assert kept is not None
    assert kept.expected == pytest.approx(240_000)


def test_the_same_seed_without_a_fault_is_the_baseline_where_there_is_one() -> None:
    kept = tokens_kept(truth(drill()), COURSE, same_seed=100_000)
    assert kept is not None
    assert (kept.expected, kept.baseline) == (100_000, "sameSeed")


@settings(max_examples=25)
@given(
    st.lists(st.floats(0, 170), min_size=1, max_size=40),
    st.sampled_from([slow, refused]),
    st.sampled_from([38.0, SHIFTED, 62.0]),
)
def test_more_bad_requests_never_improve_a_verdict(
    offsets: list[float], spoil: object, shifted: float
) -> None:
    assert callable(spoil)
    rows = drill(shifted)
    first = len(rows)
    template = rows[0]
    added = [
        spoil(template.model_copy(update={"seq": first + i, "planned_at": START + at, "sent_at": START + at}))
        for i, at in enumerate(offsets)
    ]
    before, after = verdict_of(rows), verdict_of([*rows, *added])
    if after.verdict in ORDER:
        assert ORDER.index(after.verdict) <= ORDER.index(before.verdict)
    assert (after.mitigated_at or math.inf) >= (before.mitigated_at or math.inf)


@settings(max_examples=25)
@given(st.floats(INJECTED, 170))
def test_what_is_known_early_stays_true(after: float) -> None:
    """An answer given while requests are open is never taken back when they have ended."""
    rows, now = drill(), START + after
    until = min(now, START + REVERTED)
    known = truth(rows).as_of(now)
    early = mitigation(known, COURSE.aim, since=START + INJECTED, until=until)
    late = mitigation(truth(rows), COURSE.aim, since=START + INJECTED, until=START + REVERTED)
    assert late.at is not None
    assert early.earliest <= late.at or early.earliest == until
    assert early.at is None or early.at >= late.at


def test_a_drill_about_some_clients_is_mitigated_when_they_are_served_whatever_the_others_get() -> None:
    def shed(one: Request, at: float) -> Request:
        tier = "batch" if one.seq % 3 == 0 else "interactive"
        one = one.model_copy(update={"tier": tier})
        if INJECTED <= at < SHIFTED:
            return slow(one)
        if tier == "batch" and SHIFTED <= at < RESTORED:
            away = {"status": 429, "zone": None, "replica": None, "replica_uid": None}
            return refused(one).model_copy(update=away)
        return one

    rows = traffic(180, change=shed)
    course = replace(COURSE, aim=Aim(), tiers=("interactive",))
    judgement = judge(truth(rows), course)
    assert judgement.verdict == DrillVerdict.PASSED
    assert judgement.mitigated_at == pytest.approx(START + SHIFTED, abs=0.6)
    assert judgement.recovered_at == pytest.approx(START + RESTORED, abs=0.6)
    assert judge(truth(rows), replace(course, tiers=())).mitigated_at is None
    assert truth(rows).refused(START, START + 180).keys() == {"batch"}


def test_who_is_refused_by_the_gateway_did_not_reach_the_target() -> None:
    away = request(0, START, None, status=429, outcome="error", replica=None, replica_uid=None)
    assert Aim(zones=("zone-b",)).is_hit_by(away, good=False) is False
    assert Aim(zones=("zone-b",)).is_hit_by(refused(away), good=False) is True
    assert Aim().is_hit_by(refused(away), good=False) is False
