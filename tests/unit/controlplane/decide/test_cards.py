"""Cards: a change of the code is an event, once; repeats climb; health is a state."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.decide.cards import ACTIVE, REPEATS, CardBook, verdicts
from controlplane.model.signals import Verdict
from controlplane.model.xid import HEALTH, LADDER, XIDS, ailment, code_of, higher, name_of
from controlplane.observe.answers import Card
from tests.unit.controlplane.decide.fleet import AT, at, topology

TARGETS = topology().targets()
NODE, POD = at("a/a1"), at("a/a1/0").name
NOW = AT.timestamp()


def card(code: float = 0, *, pod: str = POD, uuid: str = "GPU-1", **values: float) -> Card:
    return Card(NODE, uuid, pod, {"gpu_xid": code, **values})


def seen(*codes: float, gap: float = 2.0) -> CardBook:
    book = CardBook()
    for index, code in enumerate(codes):
        book = book.after([card(code)], NOW + index * gap)
    return book


def events(book: CardBook) -> list[tuple[int, str]]:
    return [(event.code, event.rung) for known in book.cards.values() for event in known.events]


def judged(
    book: CardBook, *cards: Card, after: float = 0.0, fresh: bool = True, opened: tuple[str, ...] = ()
) -> list[Verdict]:
    moment = AT + timedelta(seconds=after)
    return verdicts(book, cards, TARGETS, opened, moment, fresh=fresh)


def test_a_code_that_is_there_at_first_sight_is_history() -> None:
    assert events(seen(79, 79, 79)) == []


def test_a_change_is_an_event_once() -> None:
    assert events(seen(0, 31, 31, 31)) == [(31, "restart-engine")]
    assert events(seen(79, 31, 79)) == [(31, "restart-engine"), (79, "replace-node")]


def test_an_exporter_that_starts_again_repeats_nothing() -> None:
    book = seen(0, 31)
    assert book.after([], NOW + 10) is book
    assert book.after([card(31)], NOW + 20) is book
    assert events(book.after([card(0)], NOW + 20)) == [(31, "restart-engine")]


def test_a_take_over_goes_on_from_what_was_kept() -> None:
    kept = CardBook.model_validate(seen(0, 31).model_dump(mode="json", by_alias=True))
    assert kept == seen(0, 31)
    assert kept.after([card(31)], NOW + 10) is kept


def test_the_same_error_again_climbs_the_ladder_and_stays_on_its_last_rung() -> None:
    rungs = [rung for _, rung in events(seen(0, 31, 0, 31, 0, 31, 0, 31, 0, 31))]
    assert rungs == ["restart-engine", "reset-gpu", "replace-node", "support", "support"]


def test_what_is_long_ago_is_forgiven() -> None:
    assert [rung for _, rung in events(seen(0, 31, 0, 31, gap=REPEATS))] == ["restart-engine"]


@pytest.mark.parametrize(
    ("code", "target", "tier", "severity"),
    [
        (31, at("a/a1/0"), "restart-engine", "page"),
        (48, at("a/a1/0"), "reset-gpu", "page"),
        (79, NODE, "replace-node", "page"),
        (74, NODE, "reset-gpu", "page"),
        (63, at("a/a1/0"), "none", "ticket"),
        (9999, NODE, "support", "page"),
    ],
)
def test_an_error_is_bad_where_its_remedy_is(code: int, target: object, tier: str, severity: str) -> None:
    (found,) = judged(seen(0, code), after=4)
    assert (found.signal.target, found.signal.name) == (target, name_of(code))
    assert (found.bad, found.tiers, found.severity) == (True, (tier,), severity)


def test_what_another_code_tells_better_is_left_out() -> None:
    assert [each.signal.name for each in judged(seen(0, 48, 45), after=4)] == ["xid-48"]


def test_an_event_is_over_after_a_while_and_unknown_without_sight() -> None:
    book, name = seen(0, 31), f"gpu:xid-31@{at('a/a1/0')}"
    assert judged(book, after=ACTIVE + 3) == []
    (over,) = judged(book, after=ACTIVE + 3, opened=(name,))
    assert (over.bad, over.state.good, over.blind) == (False, True, False)
    (unseen,) = judged(book, after=ACTIVE + 3, opened=(name,), fresh=False)
    assert (unseen.state.good, unseen.blind) == (None, True)


def test_health_is_bad_for_as_long_as_it_stands_and_only_while_it_is_seen() -> None:
    bad = card(gpu_row_remap_failure=1.0)
    (found,) = judged(CardBook(), bad)
    assert (found.signal.name, found.signal.target, found.tiers) == (
        "row-remap-failure",
        NODE,
        ("replace-node",),
    )
    assert judged(CardBook(), card(gpu_row_remap_failure=0.0)) == []
    assert judged(CardBook(), bad, fresh=False) == []


def test_of_two_cards_of_a_node_each_has_its_own_events() -> None:
    book = CardBook().after([card(0), card(0, uuid="GPU-2", pod="")], NOW)
    book = book.after([card(0), card(79, uuid="GPU-2", pod="")], NOW + 2)
    assert events(book) == [(79, "replace-node")]


@given(st.lists(st.sampled_from([0, 31, 45, 48, 63, 79]), max_size=30))
def test_events_are_the_changes_to_another_code_and_rungs_never_fall(codes: list[int]) -> None:
    book = seen(*codes)
    changes = [now for before, now in pairwise(codes) if now not in {0, before}]
    assert [code for code, _ in events(book)] == changes
    for code in set(changes):
        steps = [LADDER.index(rung) for found, rung in events(book) if found == code]
        assert steps == sorted(steps)
        assert steps[0] == LADDER.index(ailment(name_of(code)).rung)


def test_every_row_of_the_table_says_where_it_is_from() -> None:
    for name in [*map(name_of, XIDS), *HEALTH]:
        row = ailment(name)
        assert row.text
        assert row.source
        assert (row.rung == "none") is (row.fault in {"warning", "secondary"} or name == "xid-137")
    assert [higher(rung) for rung in LADDER] == [*LADDER[1:], "support"]
    assert (code_of("xid-79"), code_of("ecc-dbe"), code_of("xid-")) == (79, None, None)


@pytest.mark.parametrize(
    ("field", "name", "target", "rung", "severity"),
    [
        ("gpu_health_thermal", "health-thermal", at("a/a1/0"), "none", "ticket"),
        ("gpu_health_power", "health-power", at("a/a1/0"), "none", "ticket"),
        ("gpu_health_nvlink", "health-nvlink", NODE, "reset-gpu", "page"),
    ],
)
def test_the_watches_of_heat_power_and_links_are_states(
    field: str, name: str, target: object, rung: str, severity: str
) -> None:
    (found,) = judged(CardBook(), Card(NODE, "GPU-1", POD, {field: 10.0}))
    assert (found.signal.name, found.signal.target, found.tiers, found.severity) == (
        name,
        target,
        (rung,),
        severity,
    )
    assert judged(CardBook(), Card(NODE, "GPU-1", POD, {field: 0.0})) == []
