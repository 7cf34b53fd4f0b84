"""`fleetward backtest` over days that a real Prometheus holds: each planted outage is found, nothing else.

The past is made once: promtool turns what a recorded fleet said into blocks, a file for each two hours. Three
hours of a night by default; the week with ``--backtest-days 7``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from controlplane.backtest.report import Report
from controlplane.kernel.clock import from_unix, to_rfc3339
from controlplane.model.target import Target
from tests.support.backtest_documents import DOCUMENTS
from tests.support.real_prometheus import Prometheus
from tests.support.recorded_fleet import BEGIN, DAY, HOUR, Planted, RecordedFleet

MINUTE = 60.0
FLEETWARD = [sys.executable, "-c", "from controlplane.cli.main import main; main()"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed"),
    pytest.mark.skipif(shutil.which("prometheus") is None, reason="Prometheus is not installed"),
]


def at(*parts: str) -> Target:
    return Target("chat", "local", *parts)


REPLICA = at("zone-a", "node-a1", "replica-a1-0")
NIGHT = Planted("outage", at("zone-a"), 0.3 * HOUR, 4 * MINUTE)
ZONE = Planted("outage", at("zone-b"), 0.9 * HOUR, 3 * MINUTE)
GRAY = Planted("gray", at("zone-c"), 1.3 * HOUR, 4 * MINUTE)
HANG = Planted("hang", REPLICA, 1.7 * HOUR, 3 * MINUTE)
FOUND = (NIGHT, ZONE, GRAY, HANG)
"""What must be found; what follows must not."""
RESTART = (Planted("gap", at(), 0.6 * HOUR, 2 * MINUTE), Planted("restart", at(), 0.6 * HOUR, 2 * MINUTE))
GAP = Planted("gap", at(), 2.1 * HOUR, 12 * MINUTE)
SPIKES = tuple(
    Planted("spike", at(*parts), hour * HOUR, 30)
    for parts, hour in ((("zone-a", "node-a1"), 2.6), (("zone-b", "node-b1"), 2.8))
)


@dataclass(frozen=True)
class Past:
    """What was planted in the days that were recorded, and what the command said of them."""

    planted: tuple[Planted, ...]
    harmless: tuple[Planted, ...]
    days: float
    report: Report
    told: str


def spread(planted: tuple[Planted, ...], days: float) -> tuple[Planted, ...]:
    """Give each its own day, as far as there are so many, and every second its noon."""
    if days < 1:
        return planted
    later = [DAY * (place % int(days)) + 9 * HOUR * (place % 2) for place in range(len(planted))]
    return tuple(replace(each, at=each.at + more) for each, more in zip(planted, later, strict=True))


def record(folder: Path, fleet: RecordedFleet) -> Prometheus:
    """Write the fleet's past into blocks, and start a Prometheus on them that compacts nothing."""
    for file in fleet.write(folder):
        command = [
            "promtool",
            "tsdb",
            "create-blocks-from",
            "openmetrics",
            "--quiet",
            str(file),
            str(folder / "data"),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        file.unlink()
    lasting = [f"--storage.tsdb.{end}-block-duration=2h" for end in ("min", "max")]
    return Prometheus(folder, [], more=[*lasting, "--storage.tsdb.retention.time=10y"])


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Past]:
    folder, days = tmp_path_factory.mktemp("past"), float(request.config.getoption("--backtest-days"))
    planted, harmless = spread(FOUND, days), (*RESTART, *spread((GAP, *SPIKES), days))
    fleet = RecordedFleet(days, 30.0, [*planted, *harmless], hour=3)
    (folder / "fleet.yaml").write_text(DOCUMENTS)
    prometheus = record(folder, fleet)
    try:
        span = ["--from", to_rfc3339(from_unix(BEGIN)), "--to", to_rfc3339(from_unix(fleet.end))]
        command = [*FLEETWARD, "backtest", str(folder / "fleet.yaml"), "--prometheus", prometheus.url, *span]
        done = subprocess.run(
            [*command, "-o", "json"], capture_output=True, text=True, timeout=800, check=False
        )
        assert done.returncode == 0, done.stderr
        yield Past(planted, harmless, days, Report.model_validate_json(done.stdout), done.stderr)
    finally:
        prometheus.stop()


def began(planted: Planted) -> datetime:
    return from_unix(BEGIN + planted.at)


def test_each_outage_is_found_at_its_place_and_soon(past: Past) -> None:
    for planted in past.planted:
        here = [each for each in past.report.incidents if each.target == str(planted.target)]
        first = min(each.fired_at for each in here)
        patience = timedelta(
            minutes=3.5 if planted.what == NIGHT.what and planted.target == NIGHT.target else 2
        )
        assert began(planted) < first <= began(planted) + patience, planted


def test_nothing_else_fires(past: Past) -> None:
    for each in past.report.incidents:
        causes = [
            planted
            for planted in past.planted
            if Target.parse(each.target).contains(planted.target)  # it, or the service that it is a part of
            and began(planted) <= each.opened_at <= began(planted) + timedelta(seconds=planted.lasted + 60)
        ]
        assert causes, f"{each.title} at {each.opened_at}"


def test_each_is_answered_by_its_playbook_as_planned(past: Past) -> None:
    for planted in past.planted:
        here = [each for each in past.report.incidents if each.target == str(planted.target)]
        runs = [answer for each in here for answer in each.answers if answer.outcome == "run"]
        playbook = "hung-replica" if planted.what == "hang" else "zone-failover"
        assert {answer.playbook for answer in runs} == {playbook}
        assert all(step.outlook == "runs" for answer in runs for step in answer.plan)
        (touched,) = {touch.target for answer in runs for step in answer.plan for touch in step.touches}
        assert touched == str(planted.target)


def test_what_nobody_saw_is_said(past: Past) -> None:
    (seen,) = past.report.services
    assert (seen.interval, seen.tick, seen.ticks, seen.replicas) == (30.0, 30.0, round(past.days * 2880), 6)
    gap = next(each for each in past.harmless if each.lasted == GAP.lasted)
    until = began(gap) + timedelta(seconds=gap.lasted)
    dark = [each for each in seen.dark if each.source == "engine" and began(gap) <= each.since <= until]
    assert len(dark) == 1
    assert dark[0].until > until - timedelta(minutes=1)
    assert 0.9 < seen.observed < 1


def test_progress_is_told_on_standard_error(past: Past) -> None:
    tenths = [line for line in past.told.splitlines() if line.startswith("backtest: ")]
    assert len(tenths) == 10
    assert tenths[-1].startswith("backtest: 100 %")
