"""Plans: the same for a seed, Poisson around the day's rate, and countable without being played."""

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.lab.traffic.arrivals import DAY, Arrival, azure_trace, day_rate, synthetic_day
from controlplane.kernel.errors import InvalidInput

TRACE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:48.6805900,396,109
2023-11-16 18:15:50.6805900,99999,99999
2023-11-16 18:15:56.6805900,1,0
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    return path


def test_one_seed_makes_one_plan_and_another_seed_another() -> None:
    first = list(islice(synthetic_day(1, 10.5, 100), 2000))

    assert list(islice(synthetic_day(1, 10.5, 100), 2000)) == first
    assert list(islice(synthetic_day(2, 10.5, 100), 2000)) != first


def test_the_first_ten_minutes_carry_over_a_thousand_tokens_a_second() -> None:
    requests, tokens = synthetic_day(1, 10.5, 100).count(0, 600)

    assert requests / 600 == pytest.approx(10.5, rel=0.08)
    assert tokens / requests == pytest.approx(100, rel=0.05)
    assert tokens / 600 >= 1000


def test_the_days_rate_averages_its_mean_and_starts_there_rising() -> None:
    rates = [day_rate(second, 10.5) for second in range(0, int(DAY), 60)]

    assert sum(rates) / len(rates) == pytest.approx(10.5)
    assert rates[0] == pytest.approx(10.5)
    assert rates[1] > rates[0]
    assert min(rates) > 0.7 * 10.5
    assert max(rates) < 1.25 * 10.5


@settings(max_examples=25)
@given(start=st.floats(0, 900), length=st.floats(0, 300))
def test_counting_a_range_agrees_with_playing_it(start: float, length: float) -> None:
    plan = synthetic_day(3, 2.0, 50)
    played = []
    for arrival in plan:
        if arrival.at >= start + length:
            break
        if arrival.at >= start:
            played.append(arrival)

    assert plan.count(start, start + length) == (
        len(played),
        sum(arrival.output_tokens for arrival in played),
    )


def test_arrivals_come_in_order_with_sane_lengths() -> None:
    arrivals = list(islice(synthetic_day(5, 10.5, 100), 5000))

    assert arrivals == sorted(arrivals)
    assert all(4 <= arrival.output_tokens <= 1000 for arrival in arrivals)
    assert all(24 <= arrival.prompt_tokens <= 8000 for arrival in arrivals)


def test_a_trace_is_replayed_with_lengths_cut_to_what_the_engine_takes(trace: Path) -> None:
    assert list(islice(azure_trace(trace, 1.0), 4)) == [
        Arrival(0.0, 374, 44),
        Arrival(2.0, 396, 109),
        Arrival(4.0, 8000, 1000),
        Arrival(10.0, 24, 1),
    ]


def test_a_trace_starts_over_at_its_end(trace: Path) -> None:
    fifth = next(islice(azure_trace(trace, 1.0), 4, None))

    assert fifth == Arrival(12.5, 374, 44)


def test_a_rate_factor_speeds_a_trace_up(trace: Path) -> None:
    slow, fast = azure_trace(trace, 1.0), azure_trace(trace, 2.0)

    assert [arrival.at * 2 for arrival in islice(fast, 400)] == pytest.approx(
        [arrival.at for arrival in islice(slow, 400)]
    )


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "TIMESTAMP,ContextTokens,GeneratedTokens\nnoon,1,2\n"])
def test_a_file_that_is_no_trace_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.csv"
    path.write_text(text)

    with pytest.raises(InvalidInput, match=r"other\.csv"):
        azure_trace(path, 1.0)
