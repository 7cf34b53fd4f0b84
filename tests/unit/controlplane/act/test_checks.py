"""Four results of a verification, judged from looks alone."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.act.checks import CheckResult, CheckState, begin, longest_range, look, measure, summary
from controlplane.kernel.errors import InvalidInput, Unavailable
from controlplane.model.playbook import QueryCheck, SignalCheck
from controlplane.model.signals import SignalsSnapshot, SignalState

START = datetime(2026, 1, 1, tzinfo=UTC)
SIGNAL = "slo:tpot@chat/local/zone-a"
TARGET = "chat/local/zone-a"
CHECK = SignalCheck.model_validate({"signal": "trigger", "within": "1m", "for": "10s"})
QUERY = QueryCheck.model_validate(
    {"query": "up", "successCondition": "result < 1", "count": 3, "interval": "5s", "failureLimit": 1}
)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def snapshot(now: float, good: bool | None, *, since: float | None = None, **more: Any) -> SignalsSnapshot:
    state = SignalState(
        good=good,
        value=0.9,
        objective=0.95,
        since=at(now - 2 if since is None else since),
        until=at(now),
        clients_good=more.get("clients"),
        clients_value=0.99,
    )
    traffic = {TARGET: more.get("traffic", True)}
    seen = more.get("seen", now)
    return SignalsSnapshot(at=at(seen), evaluated_at=at(seen), signals={SIGNAL: state}, takes_traffic=traffic)


def follow(verdicts: Sequence[bool | None], *, effect: float = -10.0, **more: Any) -> CheckState:
    """Look every two seconds, as the loop ticks."""
    state = begin(CHECK, START, at(effect))
    for index, good in enumerate(verdicts):
        now = index * 2.0
        seen = snapshot(now, good, **more)
        state = look(CHECK, state, seen, signal=SIGNAL, target=TARGET, effect_at=at(effect), now=at(now))
        if state.result is not None:
            break
    return state


def test_good_for_long_enough_is_successful() -> None:
    state = follow([False] * 3 + [True] * 10)
    assert state.result == CheckResult.SUCCESSFUL
    assert "for 10s" in state.message


def test_good_and_bad_in_turn_is_not_good_for_long_enough() -> None:
    assert follow([False, True, True] * 20).result == CheckResult.FAILED


def test_good_at_the_end_but_not_for_long_enough_is_inconclusive() -> None:
    assert follow([False] * 28 + [True] * 3).result == CheckResult.INCONCLUSIVE


def test_a_gap_without_data_breaks_the_row_of_good_looks() -> None:
    assert follow([True, True, None] * 20).result == CheckResult.INCONCLUSIVE


def test_never_good_is_failed() -> None:
    state = follow([False] * 31)
    assert state.result == CheckResult.FAILED
    assert state.message.startswith("not good within 1m")


def test_unknown_until_the_end_is_inconclusive() -> None:
    assert follow([None] * 31).result == CheckResult.INCONCLUSIVE


def test_samples_from_before_the_last_effect_do_not_count() -> None:
    state = follow([True] * 31, effect=-10.0, since=-11.0)
    assert state.result == CheckResult.INCONCLUSIVE
    assert "before the last effect" in state.message


def test_the_clients_speak_for_a_target_that_takes_no_traffic() -> None:
    assert follow([None] * 10, traffic=False, clients=True).result == CheckResult.SUCCESSFUL
    assert follow([True] * 31, traffic=False, clients=False).result == CheckResult.FAILED


def test_a_snapshot_that_is_old_says_nothing() -> None:
    assert follow([True] * 31, seen=-20.0).result == CheckResult.INCONCLUSIVE


def test_without_a_signal_nothing_can_be_proved() -> None:
    state = look(CHECK, begin(CHECK, START, None), None, signal=None, target=None, effect_at=None, now=START)
    assert state.result == CheckResult.INCONCLUSIVE


@given(st.lists(st.sampled_from([True, False, None]), max_size=40))
def test_no_row_of_looks_is_successful_without_the_good_ones_in_a_row(verdicts: list[bool | None]) -> None:
    row = longest = 0
    for good in verdicts[:31]:
        row = row + 1 if good else 0
        longest = max(longest, row)
    assert (follow(verdicts).result == CheckResult.SUCCESSFUL) == (longest >= 6)


def run(check: QueryCheck, values: list[Any]) -> CheckState:
    state = begin(check, START, None)
    for value in values:
        state = measure(check, state, value, state.due_at)
        if state.result is not None:
            break
    return state


@pytest.mark.parametrize(
    ("values", "result"),
    [
        ([0.1, 0.2, 0.3], CheckResult.SUCCESSFUL),
        ([2.0, 0.2, 0.3], CheckResult.SUCCESSFUL),
        ([2.0, 2.0], CheckResult.FAILED),
        ([0.1, None, 0.3], CheckResult.INCONCLUSIVE),
        ([0.1, float("nan"), 0.3], CheckResult.INCONCLUSIVE),
        ([0.1, Unavailable("down"), 0.2, 0.3], CheckResult.SUCCESSFUL),
        ([Unavailable("down")] * 5, CheckResult.ERROR),
        ([InvalidInput("not PromQL")], CheckResult.ERROR),
        ([0.1, 0.2], None),
    ],
)
def test_a_query_is_judged_as_argo_does(values: list[Any], result: CheckResult | None) -> None:
    assert run(QUERY, values).result == result


def test_no_data_may_be_told_to_fail() -> None:
    check = QUERY.model_copy(update={"no_data": "fail", "failure_limit": 0})
    assert run(check, [None]).result == CheckResult.FAILED


def test_a_condition_that_cannot_be_evaluated_is_an_error() -> None:
    check = QUERY.model_copy(update={"success_condition": "result < nonsense"})
    assert run(check, [1.0]).result == CheckResult.ERROR


def test_measurements_keep_their_interval() -> None:
    state = measure(QUERY, begin(QUERY, START, None), 0.1, START)
    assert state.due_at == at(5)


def test_a_query_waits_until_its_range_lies_after_the_last_effect() -> None:
    check = QUERY.model_copy(update={"query": "rate(errors[30s]) / rate(all[1m:5s])"})
    assert longest_range(check.query) == 60.0
    assert begin(check, at(10), at(0)).due_at == at(60)
    assert begin(check, at(100), at(0)).due_at == at(100)


def test_the_worst_result_is_the_verifications() -> None:
    def state(result: CheckResult | None) -> CheckState:
        return CheckState(begun_at=START, due_at=START, result=result, message=str(result))

    good, bad, unknown = CheckResult.SUCCESSFUL, CheckResult.FAILED, CheckResult.INCONCLUSIVE
    assert summary([state(good), state(good)])[0] == good
    assert summary([state(good), state(None)])[0] is None
    assert summary([state(unknown), state(None)])[0] is None
    assert summary([state(bad), state(None)])[0] == bad
    assert summary([state(unknown), state(good)])[0] == unknown
    assert summary([state(unknown), state(CheckResult.ERROR)])[0] == CheckResult.ERROR


def test_a_replica_in_an_evacuated_zone_speaks_for_itself_by_its_canarys_questions() -> None:
    replica = "chat/local/zone-a/node-a1/replica-a1-0"

    def judged(good: bool | None, *, clients: bool) -> CheckState:
        seen = snapshot(2.0, good, clients=clients)
        seen = seen.model_copy(update={"takes_traffic": {replica: False}})
        return look(
            CHECK,
            begin(CHECK, START, at(-10)),
            seen,
            signal=SIGNAL,
            target=replica,
            effect_at=at(-10),
            now=at(2),
        )

    assert judged(False, clients=True).last_good is False
    assert judged(None, clients=True).last_good is True
