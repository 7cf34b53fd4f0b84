"""What engines show, replayed into a real Prometheus, comes out as what was put in, within one per cent.

Of every release there is an exposition made from its profile, which holds profile and observer together,
and of every engine one written by hand with the names of its own documents, which holds the profile to
them. Their counters advance and start again; beside them are targets that fall silent, series that
come, go, change their names or show no number, cards with a code that stays, and a zone that ends.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from controlplane.decide.cards import CardBook
from controlplane.model.service import Objectives
from controlplane.model.target import Target
from controlplane.observe import measures
from controlplane.observe.exposition import parse
from controlplane.observe.grading import grade_all, offer_of
from controlplane.observe.profile import Generation, shipped
from controlplane.observe.recognise import examine
from tests.integration.observe.stories import CARDS, ENGINES, STORIES, exposition, worked_out
from tests.support.replayed import INTERVAL, Fleet, Place, Replayed
from tests.unit.controlplane.observe.replay import as_text, expose
from tests.unit.controlplane.observe.test_indicators import RELEASES, TRUTH, by_hand

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed"),
]

STEPS = (1, 3, 2, 5)
"""Ticks that each replica has counted when it is looked at; between the second and third it starts again."""
COUNTED = 2 + 2 + 3
WINDOW = 300.0
"""Seconds over which values are taken here: all that was replayed, however long a loaded machine took."""
NOTED = ("availability", "queue", "kv_use", "itl", "gpu_power")
PER_SECOND = {"tokens_per_second", "decode_throughput", "prefill_throughput", "etpm_estimate"}


@dataclass(slots=True)
class Release(Replayed):
    """One release as a service of its own, made from its profile."""

    generation: Generation
    texts: dict[int, str] = field(default_factory=dict)

    def text(self, place: Place, step: int) -> str:
        del place
        if step not in self.texts:
            samples = expose(shipped()[self.engine], self.generation, TRUTH, STEPS[step])
            self.texts[step] = as_text(list(samples))
        return self.texts[step]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    releases = [
        Release(f"{engine}-{number}", engine, generation)
        for number, (engine, generation) in enumerate(RELEASES)
    ]
    made = Fleet(tmp_path_factory.mktemp("prometheus"), [*releases, *STORIES.values()], NOTED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "SHORT", WINDOW)
        for step in range(len(STEPS)):
            made.step = step
            made.observe()
        yield made
    made.close()


def paced(name: str, by_tick: float, pace: float) -> float:
    """Turn a value by hand, for one tick each ``INTERVAL``, into one for ``pace`` times as many."""
    if name in PER_SECOND:
        return by_tick * pace
    if name in {"cost_per_million", "energy_per_token"}:
        return by_tick / pace
    if name == "roi":
        return (by_tick + 1) * pace - 1
    return by_tick


def wrong(fleet: Fleet, name: str, expected: dict[str, float]) -> dict[str, tuple[float | None, float]]:
    """Return what was seen and what it should have been, where the two are apart."""
    seen, zone = fleet.observers[name].measures, fleet.services[name].zone
    found = {each: (seen.value(each, zone), wanted) for each, wanted in expected.items()}
    return {each: pair for each, pair in found.items() if pair[0] != pytest.approx(pair[1], rel=0.01)}


@pytest.mark.parametrize("number", range(len(RELEASES)), ids=lambda number: f"{number}-{RELEASES[number][0]}")
def test_what_was_replayed_comes_out(fleet: Fleet, number: int) -> None:
    engine, generation = RELEASES[number]
    name = f"{engine}-{number}"
    offer = offer_of(shipped()[engine], generation)
    values, pace = by_hand(set(offer.series)), COUNTED * INTERVAL / fleet.services[name].elapsed
    promised = [row.reads for row in grade_all(offer, {}) if row.grade != "unavailable"]
    expected = {each: paced(each, values[each], pace) for each in promised if each != "volatility"}
    assert wrong(fleet, name, expected) == {}


@pytest.mark.parametrize("name", ENGINES)
def test_what_is_promised_of_a_text_comes_out(fleet: Fleet, name: str) -> None:
    report = examine(parse(exposition(name), name), name, shipped(), Objectives())
    story = fleet.services[f"written-{name}"]
    expected = worked_out(name, COUNTED / story.elapsed)
    assert (report.recognised.profile, report.recognised.sure) == (ENGINES[name], "certain")
    promised = {row.reads for row in report.indicators if row.grade != "unavailable"}
    assert promised - {"volatility"} == set(expected)
    assert wrong(fleet, story.name, expected) == {}


def test_what_a_silent_replica_counted_is_in_when_it_answers_again(fleet: Fleet) -> None:
    story = fleet.services["silent"]
    assert [look.values["availability"] for look in story.looks] == [1.0, 0.5, 0.5, 1.0]
    assert [look.values["queue"] for look in story.looks] == [8.0, 4.0, 4.0, 8.0]
    assert wrong(fleet, "silent", worked_out("vllm-0.33", 6 / story.elapsed)) == {}


def test_series_may_come_and_go(fleet: Fleet) -> None:
    story = fleet.services["absent"]
    expected = worked_out("vllm-0.33", 6 / story.elapsed)
    # Four errors of the first replica, beside what both end well and badly in six ticks.
    success = 2 * 6 * 9 / (2 * 6 * 10 + 4)
    expected |= {"success": success, "etpm_estimate": expected["etpm_estimate"] / 0.9 * success}
    assert wrong(fleet, "absent", expected) == {}


def test_nan_is_no_number(fleet: Fleet) -> None:
    story = fleet.services["unnumbered"]
    assert [look.values["kv_use"] for look in story.looks] == [0.5] * 4
    assert [look.values["queue"] for look in story.looks] == [8.0, 4.0, 4.0, 8.0]
    assert wrong(fleet, "unnumbered", worked_out("vllm-0.33", 6 / story.elapsed)) == {}


def test_tokens_are_counted_on_by_another_query_after_a_rollback(fleet: Fleet) -> None:
    story = fleet.services["older-sglang"]
    shown = worked_out("sglang-0.5.23", 6 / story.elapsed)
    # The older counter has 190 of each tick's 200, and counts four of the six ticks.
    share = (2 * 200 + 4 * 190) / (6 * 200)
    names = ("tokens_per_second", "decode_throughput", "etpm_estimate")
    expected = {name: share * shown[name] for name in names} | {"itl": shown["itl"]}
    assert wrong(fleet, "older-sglang", expected) == {}


@pytest.mark.parametrize(("name", "text"), [("upgraded", "vllm-0.33"), ("rolled-back", "vllm-0.8")])
def test_series_go_on_by_other_names(fleet: Fleet, name: str, text: str) -> None:
    story = fleet.services[name]
    assert [look.values["kv_use"] for look in story.looks] == [0.5] * 4
    assert wrong(fleet, name, worked_out(text, 6 / story.elapsed)) == {}


def test_a_code_that_stays_is_one_event_and_instances_of_a_card_are_one_card(fleet: Fleet) -> None:
    story, book = fleet.services["latched"], CardBook()
    for look in story.looks:
        book = book.after(look.found.cards, look.at)
    events = {key: [event.code for event in card.events] for key, card in book.cards.items()}
    node = Target(story.name, "local", "zone-a", "node-zone-a")
    assert events == {f"{node}#GPU-0": [], f"{node}#GPU-1": [79]}
    assert [look.values["gpu_power"] for look in story.looks] == [600.0, 600.0, None, 600.0]
    assert wrong(fleet, "latched", {**worked_out("vllm-0.33", 6 / story.elapsed), **CARDS}) == {}


def test_a_zone_that_goes_takes_nothing_from_the_other(fleet: Fleet) -> None:
    fleet.gone = {"zone-b"}
    fleet.observe()
    for name, observer in fleet.observers.items():
        seen = observer.measures
        assert seen.value("availability", Target(name, "local", "zone-a")) == 1.0
        assert seen.value("availability", Target(name, "local", "zone-b")) == 0.0
        assert seen.value("queue", Target(name, "local", "zone-b")) is None
