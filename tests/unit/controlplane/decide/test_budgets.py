"""What is left of an error budget: counted over the whole window, through restarts, and without guessing."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.decide.budgets import BUCKETS, BudgetBook
from controlplane.model.slo import Slo
from controlplane.model.target import Target
from tests.unit.controlplane.decide.fleet import at
from tests.unit.controlplane.decide.measured import TICK, Filled

SERVICE = Target("chat", "local")
REPLICA = at("a/a1/0")


def slo(target: float = 0.9, window: str = "1h", **more: Any) -> Slo:
    spec = {"service": "chat", "indicator": "canary", "target": target, "window": {"rolling": window}, **more}
    return Slo.model_validate({"kind": "SLO", "metadata": {"name": "s"}, "spec": {"tiers": [], **spec}})


def play(filled: Filled, book: BudgetBook, one: Slo, ticks: int, good: float) -> BudgetBook:
    for _ in range(ticks):
        filled.tick({("canary", "all", REPLICA): 10.0, ("canary", "good", REPLICA): 10.0 * good})
        book = book.after([one], SERVICE, filled.measures, filled.at)
    return book


def test_a_young_history_has_spent_only_its_part_of_the_window() -> None:
    """Half of the events bad for a sixtieth of the window, a tenth may be: a twelfth is spent."""
    book = play(Filled(), BudgetBook(), slo(), 30, 0.5)
    assert book.left(slo()) == pytest.approx(1 - 5 / 60, abs=0.002)


def test_it_is_spent_and_overspent_and_comes_back_when_the_window_has_passed() -> None:
    one, filled = slo(window="2m"), Filled()
    book = play(filled, BudgetBook(), one, 60, 1.0)
    assert book.left(one) == pytest.approx(1.0)
    book = play(filled, book, one, 12, 0.0)
    left = book.left(one)
    assert left is not None
    assert left < 0
    book = play(filled, book, one, 61, 1.0)
    assert book.left(one) == pytest.approx(1.0)
    assert len(next(iter(book.tallies.values())).buckets) <= BUCKETS + 1


def test_a_restart_counts_what_happened_meanwhile_once() -> None:
    one, filled = slo(window="4m"), Filled()
    known = play(filled, BudgetBook(), one, 10, 1.0)
    saved = BudgetBook.model_validate(known.model_dump(mode="json", by_alias=True))
    going_on = play(filled, known, one, 10, 0.5)
    assert saved.after([one], SERVICE, filled.measures, filled.at).left(one) == pytest.approx(
        going_on.left(one), abs=0.01
    )


def test_few_events_are_no_verdict_and_another_threshold_begins_anew() -> None:
    filled = Filled()
    book = play(filled, BudgetBook(), slo(minEvents=100), 5, 0.0)
    assert book.left(slo(minEvents=100)) is None
    assert book.left(slo(window="3h")) is None
    assert BudgetBook().left(slo()) is None
    assert filled.at % TICK == 0
