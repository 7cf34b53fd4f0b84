"""Embedded fleets as an operator starts them: one that most tests here share, and others for one test.

Files whose tests need none of the shared fleet come first by their names: two cores carry one well.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.fleet_up import FleetUp

LAB = {
    *(f"node-{zone}{number}" for zone in "abc" for number in (1, 2)),
    "gateway",
    "envoy",
    "prometheus",
    "traffic",
}
"""Processes of the embedded fleet, as the process table names them."""

NewFleet = Callable[..., FleetUp]


@pytest.fixture(scope="package")
def few_users(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Options of `up` for a tenth of the usual traffic, so that two cores carry two fleets and the tests.

    The trace is named relative to where the command is typed, as people do.
    """
    trace = tmp_path_factory.mktemp("trace") / "few.csv"
    began = datetime(2024, 5, 10, tzinfo=UTC)
    moments = [began + timedelta(seconds=second / 3) for second in range(180)]
    rows = [f"{moment:%Y-%m-%d %H:%M:%S.%f},120,40" for moment in moments]
    trace.write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]) + "\n")
    return ("--trace", os.path.relpath(trace))


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory, few_users: tuple[str, str]) -> Iterator[FleetUp]:
    """A fleet that only watches, so that nothing but a test writes weights; whole between two tests."""
    fleet = FleetUp(tmp_path_factory.mktemp("e2e") / "f", "--mode", "observe", *few_users)
    try:
        yield fleet.start()
        assert (fleet.terminate(), fleet.left()) == (0, []), fleet.said
    finally:
        fleet.end()


@pytest.fixture
def fleet(shared: FleetUp) -> Iterator[FleetUp]:
    """Give the shared fleet, with full weights and every process alive before and after."""
    shared.wait_whole()
    shared.set_weights({})
    yield shared
    shared.wait_whole()
    shared.set_weights({})


@pytest.fixture
def new_fleet(tmp_path_factory: pytest.TempPathFactory, few_users: tuple[str, str]) -> Iterator[NewFleet]:
    """Make fleets with state directories of their own, not started; what is left of them is ended."""
    made: list[FleetUp] = []

    def make(*arguments: str) -> FleetUp:
        made.append(FleetUp(tmp_path_factory.mktemp("e2e") / "f", *few_users, *arguments))
        return made[-1]

    yield make
    for fleet in made:
        fleet.end()
