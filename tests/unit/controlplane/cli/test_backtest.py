"""``fleetward backtest``: what is printed where, which span it means, and the exit codes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from controlplane.backtest import replay
from controlplane.cli import backtest as command
from controlplane.kernel.errors import InvalidDocuments, InvalidInput, NotFound
from controlplane.observe import archive
from tests.support.backtest_documents import DOCUMENTS
from tests.support.recorded_fleet import BEGIN, Planted
from tests.unit.controlplane.backtest.conftest import MINUTE, at, shelf
from tests.unit.controlplane.cli.conftest import Result

Fleetward = Callable[..., Result]
pytestmark = pytest.mark.timeout(30)  # a whole command line, several times a test

OUTAGE = Planted("outage", at("zone-b"), 4 * MINUTE, 3 * MINUTE)
DAY = "2026-01-05"


@pytest.fixture(autouse=True)
def _recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = shelf(9, [OUTAGE])
    monkeypatch.setattr(recorded, "close", lambda: None, raising=False)
    monkeypatch.setattr(archive, "PrometheusArchive", lambda *_: recorded)
    monkeypatch.setattr(replay, "TOLD_EVERY", 60.0)


FROM = ("--prometheus", "http://p:9090", "--from")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    file = tmp_path / "fleet.yaml"
    file.write_text(DOCUMENTS)
    return file


def test_the_report_is_told_and_is_json(fleetward: Fleetward, files: Path) -> None:
    span = (*FROM, DAY, "--to", f"{DAY}T00:09:00Z")
    told = fleetward("backtest", files, *span)
    assert told.code == 0
    assert "chat-success at zone-b" in told.text
    assert "zone-failover on chat/local/zone-b: would have been started" in told.text
    assert "weight of chat/local/zone-b 100 -> 0" in told.text
    found = fleetward("backtest", files, *span, "-o", "json").json()
    assert found["prometheus"] == "http://p:9090"
    (zone,) = [each for each in found["incidents"] if each["target"] == "chat/local/zone-b"]
    assert zone["answers"][0]["plan"][0]["changes"][0]["after"] == 0
    assert found["services"][0]["observed"] == 1.0


def test_without_sight_it_is_inconclusive(fleetward: Fleetward, files: Path) -> None:
    assert fleetward("backtest", files, *FROM, DAY, "--to", f"{DAY}T01:00Z").code == 3


def test_what_is_wrong_is_said(fleetward: Fleetward, files: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(DOCUMENTS.replace("target: 99%", "target: 999"))
    assert isinstance(fleetward("backtest", wrong, *FROM, DAY).error, InvalidDocuments)
    assert isinstance(fleetward("backtest", files, *FROM, "2025-01-01", "--to", "2025-01-02").error, NotFound)
    for options in (("yesterday",), (DAY, "--since", "1d"), ("2999-01-01",)):
        assert isinstance(fleetward("backtest", files, *FROM, *options).error, InvalidInput)
    assert fleetward("backtest", files, *FROM, DAY, "--mode", "wild").code == 2


def test_a_span_is_said_by_its_ends_or_its_length() -> None:
    now = datetime.fromtimestamp(BEGIN + 3 * 86400, UTC)
    assert command._span(None, None, None, now).start == BEGIN + 2 * 86400
    assert command._span(None, "2026-01-07", "2d", now).start == BEGIN
    assert command._span(DAY, None, None, now).end == now.timestamp()
    assert command._span(f"{DAY}T01:00:00+01:00", None, None, now).start == BEGIN
