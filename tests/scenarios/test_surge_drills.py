"""Drills with more clients than can be served: judged for those who must be, and nobody may be forgotten."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chaos.drills.library import shipped_drills
from controlplane.model.report import StoredReport, report_name
from tests.support.drill_controlplanes import firing, nobody, shed
from tests.support.drill_world import CAPACITY, Controlplane, World, assert_clean

pytestmark = pytest.mark.timeout(240)

Make = Callable[[Controlplane], World]


@pytest.mark.parametrize("name", ["load-surge", "budget-freeze"])
def test_a_surge_drill_passes_when_those_who_can_wait_are_refused_and_let_in_again(
    make: Make, name: str
) -> None:
    fires = {"load-surge": "shed-load", "budget-freeze": "budget-freeze"}[name]
    world = make(firing(fires, shed(after=12)))
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


def scale_out(after: float = 8.0) -> Controlplane:
    """A control plane that brings up half as much again ``after`` seconds of a surge, and keeps it."""
    seen: dict[str, float] = {}

    def act(world: World) -> None:
        if any(one.verified_at is not None for one in world.faults(standing=True)):
            since = seen.setdefault("since", world.now)
            if world.now - since >= after:
                world.capacity = 1.5 * CAPACITY

    return act


def test_a_growth_drill_passes_when_standby_is_brought_up_and_nobody_is_refused(make: Make) -> None:
    world = make(scale_out())
    run = world.run_to_end(world.start("load-growth"))
    assert run.result["verdict"] == "passed", run.result
    assert 8 <= run.result["timeToMitigate"] <= 60
    with world.database.reading() as tx:
        assert StoredReport.model_validate(tx.snapshots.get(report_name(run.id))).report.refused == {}
    assert_clean(world)


def test_refusing_those_who_can_wait_is_not_enough_when_the_others_are_too_many(make: Make) -> None:
    run = (world := make(shed(after=12))).run_to_end(world.start("load-growth"))
    assert run.result["verdict"] in {"failed", "aborted"}
    assert_clean(world)
