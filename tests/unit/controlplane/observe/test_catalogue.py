"""The indicators as data: all eighteen, each worked out by something, none unavailable without a reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from controlplane.kernel.errors import InvalidInput
from controlplane.observe import buckets
from controlplane.observe.catalogue import Catalogue, catalogue
from controlplane.observe.grading import Graded, exporters, grade_all, offer_of
from controlplane.observe.library import INDICATORS
from controlplane.observe.matrix import matrix
from controlplane.observe.profile import load_data, shipped
from controlplane.observe.yields import VALUES

BASE = """
families: [Speed]
inputs: {}
indicators:
  - name: speed
    family: 1
    unit: tokens/s
    better: higher
    meaning: how fast
    formula: rate
    sources: [engine]
    ways: [{needs: [generation_tokens]}]
"""


def newest(engine: str) -> dict[str, Graded]:
    profile = shipped()[engine]
    assert profile.engine is not None
    rows = grade_all(offer_of(profile, profile.engine.generations[-1]), exporters(shipped()))
    return {row.indicator: row for row in rows}


def test_all_eighteen_are_there_and_the_library_works_each_out() -> None:
    book = catalogue()
    assert len(book.families) == 18
    for sli in book.indicators:
        for way in sli.ways:
            assert (way.reads or sli.name) in INDICATORS, sli.name
    assert set(VALUES) <= set(INDICATORS)


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("needs: [generation_tokens]", "needs: [generation_tokns]", "did you mean `generation_tokens`"),
        ("needs: [generation_tokens]", "needs: [generation_tokens], bound: upper", "says why"),
        ("needs: [generation_tokens]", "needs: [generation_tokens], why: so", "says why"),
        ("families: [Speed]", "families: [Speed, Colour]", "every family has an indicator"),
        ("better: higher", "better: faster", "'higher', 'lower' or 'neither'"),
    ],
)
def test_a_mistake_in_the_catalogue_is_named(old: str, new: str, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        load_data(Catalogue, BASE.replace(old, new), "indicators.yaml")


def test_what_is_unavailable_of_an_engine_always_has_a_reason_of_its_own() -> None:
    for engine in matrix(shipped()).engines:
        for generation in engine.generations:
            for row in generation.indicators:
                if row.grade == "unavailable":
                    assert row.reason, (engine.name, generation.name, row.indicator)
                    assert "no series for" not in row.reason, (engine.name, generation.name, row.indicator)
                elif row.grade == "bounded":
                    assert row.why, (engine.name, generation.name, row.indicator)
                else:
                    assert row.series, (engine.name, generation.name, row.indicator)


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ("vllm", {"ttft": "exact", "etpm": "upper", "prefix_hits": "exact", "context_window": "lower"}),
        ("sglang", {"ttft": "exact", "memory_per_token": "exact", "tokens_per_second": "exact"}),
        (
            "tgi",
            {"ttft": "lower", "tpot": "upper", "prefix_hits": "unavailable", "tokens_per_second": "estimate"},
        ),
        ("triton", {"e2e": "estimate", "gpu_use": "exact", "tokens_per_second": "unavailable"}),
        ("trtllm", {"tpot": "exact", "itl": "unavailable", "prefix_hits": "exact"}),
        ("dynamo", {"tpot": "estimate", "context_window": "exact", "success": "lower"}),
        ("nim", {"itl": "exact", "prefix_hits": "unavailable", "success": "exact"}),
    ],
)
def test_grades_are_what_the_field_knows_of_each_engine(engine: str, expected: Mapping[str, Any]) -> None:
    rows = newest(engine)
    assert {name: rows[name].bound or rows[name].grade for name in expected} == expected


def test_other_sources_are_named_where_they_make_it_better() -> None:
    rows = newest("vllm")
    energy, etpm = rows["energy_per_token"], rows["etpm"]
    assert (energy.grade, energy.with_ and energy.with_.sources) == ("unavailable", ("dcgm",))
    assert "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION of dcgm" in energy.reason
    assert etpm.with_ is not None
    assert (etpm.with_.grade, etpm.with_.sources) == ("exact", ("clients",))
    assert rows["cost_per_million"].needs == (
        "`economics` in the Service: what a GPU hour costs and a token earns",
    )


def test_a_caveat_in_a_product_or_a_quotient_pulls_nobody_knows_where() -> None:
    assert (newest("tgi")["tpot"].bound, newest("tgi")["etpm"].bound) == ("upper", "estimate")


def test_a_threshold_below_every_bound_is_judged_at_the_lowest() -> None:
    assert buckets.snap([0.1, 0.5], 0.05) == 0.1
    assert buckets.snap([], 0.05) == 0.05
    assert buckets.snap([0.1, float("inf")], float("inf")) == float("inf")
