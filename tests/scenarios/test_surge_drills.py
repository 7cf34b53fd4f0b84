"""Drills with more clients than can be served: judged for those who must be, and nobody may be forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chaos.drills.library import shipped_drills
from controlplane.model.report import StoredReport, report_name
from tests.support.drill_world import Controlplane, World, assert_clean, nobody, shed

pytestmark = pytest.mark.timeout(240)

Make = Callable[[Controlplane], World]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    worlds: list[World] = []

    def build(controlplane: Controlplane) -> World:
        worlds.append(World(tmp_path, controlplane))
        worlds[-1].live(20)
        return worlds[-1]

    yield build
    for world in worlds:
        world.database.close()


@pytest.mark.parametrize("name", ["load-surge", "budget-freeze"])
def test_a_surge_drill_passes_when_those_who_can_wait_are_refused_and_let_in_again(
    make: Make, name: str
) -> None:
    world = make(shed(after=12))
    run = world.run_to_end(world.start(name))
    assert run.result["verdict"] == "passed", run.result
    assert 10 <= run.result["timeToMitigate"] <= 25
    assert run.result["timeToRecover"] == pytest.approx(60 + 20, abs=12)
    assert run.result["effectiveTokensKept"] < 0.7  # who is refused is not served
    with world.database.reading() as tx:
        report = StoredReport.model_validate(tx.snapshots.get(report_name(run.id)))
    assert set(report.report.refused) == {"batch"}
    assert f"{report.report.refused['batch']} of batch" in report.html
    assert "for interactive" in report.html
    assert_clean(world)


def test_a_surge_that_nobody_answers_fails_for_those_who_must_be_served(make: Make) -> None:
    run = (world := make(nobody)).run_to_end(world.start("load-surge"))
    assert run.result["verdict"] in {"failed", "aborted"}
    assert_clean(world)


def test_refusing_those_who_can_wait_for_ever_is_no_recovery(make: Make) -> None:
    run = (world := make(shed(calm=1000))).run_to_end(world.start("load-surge"))
    assert run.result["verdict"] == "failed"
    assert "not back to full service within 180 s" in run.result["reasons"]


def test_a_drill_may_not_look_away_from_those_who_must_be_served(make: Make) -> None:
    drill = shipped_drills()["load-surge"]
    recovery = drill.spec.recovery.model_copy(update={"tiers": ("batch", "vip")})
    spec = drill.spec.model_copy(update={"recovery": recovery})
    run = (world := make(nobody)).run_to_end(world.start_with(drill.model_copy(update={"spec": spec})))
    assert run.result["verdict"] == "aborted"
    assert run.result["reasons"] == [
        "the Service has no tier `vip`; recovery.tiers leaves out `interactive`, which may not be shed"
    ]
    assert world.faults() == []
