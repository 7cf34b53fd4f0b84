"""Backtests of fleets that were recorded with something planted, without a Prometheus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from controlplane.backtest.replay import Backtest, Order
from controlplane.backtest.report import Fired, Report
from controlplane.backtest.span import Span
from controlplane.bootstrap.documents import action_registry
from controlplane.cli import logs
from controlplane.model.documents import load_bundle
from controlplane.model.target import Target
from tests.support.backtest_documents import DOCUMENTS
from tests.support.recorded_archive import Shelf
from tests.support.recorded_fleet import BEGIN, Planted, RecordedFleet

Play = Callable[..., Report]
ACTIONS = action_registry()
MINUTE = 60.0


def at(*parts: str) -> Target:
    """A target of the recorded fleet."""
    return Target("chat", "local", *parts)


REPLICA = at("zone-a", "node-a1", "replica-a1-0")


def shelf(minutes: float, planted: Sequence[Planted] = ()) -> Shelf:
    """A fleet that was scraped each half minute of a busy morning."""
    return Shelf(RecordedFleet(minutes / 1440, 30.0, planted, hour=10))


def play(archive: Shelf, documents: str = DOCUMENTS, **how: Any) -> Report:
    """Test the documents over all that was recorded."""
    bundle = load_bundle([("backtest.yaml", documents)]).raise_problems()
    order = Order(bundle, Span(BEGIN, archive.fleet.end), "a shelf")
    return Backtest(archive, replace(order, **how), ACTIONS).run()


def about(report: Report, target: Target) -> list[Fired]:
    """The incidents of exactly this target."""
    return [each for each in report.incidents if each.target == str(target)]


@pytest.fixture(autouse=True, scope="session")
def _quiet() -> None:
    logs.quiet()
