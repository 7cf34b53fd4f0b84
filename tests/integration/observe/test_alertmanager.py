"""A real Alertmanager before the real API: alerts arrive once, end, and are held against its list."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from controlplane.api.auth import issue_alert_token
from controlplane.api.views.alerts import fingerprint
from controlplane.controller import alerting
from controlplane.kernel.clock import SystemClock, VirtualClock
from controlplane.model.records import Alert
from controlplane.observe.alertmanager import HttpAlertmanager
from controlplane.store.database import Database
from tests.support.ports import free_ports

PROGRAM = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(180),
    pytest.mark.skipif(PROGRAM is None, reason="Alertmanager is not installed"),
]

LABELS = {"alertname": "HighErrors", "service": "chat", "zone": "zone-a", "team": "für Modelle"}


def wait_for(what: str, ask: Callable[[], Any], seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.1)
    return answer


class Stage:
    """`fleetward api` on a database of its own, and an Alertmanager that sends to it in two ways at once."""

    def __init__(self, folder: Path) -> None:
        self.folder, (self.api_port, self.port) = folder, free_ports(2)
        self.database = Database(f"sqlite:///{folder / 'fleetward.db'}", SystemClock())
        self.database.migrate()
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=5, trust_env=False)
        with self.database.transaction() as tx:
            token = issue_alert_token(tx)
        hook = {"url": f"http://127.0.0.1:{self.api_port}/api/v1/alerts", "send_resolved": True}
        ways = [
            {**hook, "http_config": {"authorization": {"credentials": token}}},
            {**hook, "http_config": {"basic_auth": {"username": "alertmanager", "password": token}}},
        ]
        config = {
            "route": {
                "receiver": "fleetward",
                "group_wait": "0s",
                "group_interval": "1s",
                "repeat_interval": "1s",
            },
            "receivers": [{"name": "fleetward", "webhook_configs": ways}],
        }
        (folder / "alertmanager.yml").write_text(json.dumps(config))
        fleetward = [sys.executable, "-c", "from controlplane.cli.main import main; main()"]
        self.processes = [
            self._start([*fleetward, "api", "--state-dir", str(folder), "--port", str(self.api_port)]),
            self._start(
                [
                    str(PROGRAM),
                    f"--config.file={folder / 'alertmanager.yml'}",
                    f"--storage.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self.port}",
                    "--cluster.listen-address=",
                ]
            ),
        ]
        wait_for("both answer", self._ready)

    def _start(self, argv: list[str]) -> subprocess.Popen[bytes]:
        with (self.folder / f"{Path(argv[0]).name}.log").open("ab") as log:
            return subprocess.Popen(argv, stdout=log, stderr=log)

    def _ready(self) -> bool:
        with suppress(httpx.TransportError):
            api = httpx.get(f"http://127.0.0.1:{self.api_port}/healthz", trust_env=False)
            return api.status_code < 500 and self.http.get("/-/ready").is_success
        return False

    def fire(self, ends_at: datetime | None = None, **labels: str) -> None:
        alert: dict[str, Any] = {"labels": {**LABELS, **labels}, "annotations": {"summary": "errors"}}
        if ends_at is not None:
            alert["endsAt"] = ends_at.isoformat()
        self.http.post("/api/v2/alerts", json=[alert]).raise_for_status()

    def silence(self, zone: str) -> None:
        now = datetime.now(UTC)
        body = {
            "matchers": [{"name": "zone", "value": zone, "isRegex": False, "isEqual": True}],
            "startsAt": now.isoformat(),
            "endsAt": (now + timedelta(hours=1)).isoformat(),
            "createdBy": "test",
            "comment": "known",
        }
        self.http.post("/api/v2/silences", json=body).raise_for_status()

    def alerts(self, zone: str = "zone-a") -> list[Alert]:
        with self.database.reading() as tx:
            return [each for each in tx.alerts.list() if each.labels["zone"] == zone]

    def in_a_minute(self) -> Database:
        """The same database, a minute later."""
        return Database(
            f"sqlite:///{self.folder / 'fleetward.db'}",
            VirtualClock(datetime.now(UTC) + timedelta(minutes=1)),
        )

    def end(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(30)
        self.http.close()
        self.database.close()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("alerts"))
    yield made
    made.end()


def test_an_alert_that_is_sent_twice_is_one_and_its_end_ends_it(stage: Stage) -> None:
    stage.fire()
    (alert,) = wait_for("the alert", stage.alerts)
    (listed,) = stage.http.get("/api/v2/alerts").json()
    assert (alert.status, alert.labels, alert.receiver) == ("firing", LABELS, "fleetward")
    assert alert.fingerprint == listed["fingerprint"] == fingerprint(LABELS)
    first = alert.seen_at
    wait_for("it is sent again", lambda: stage.alerts()[0].seen_at > first)

    stage.fire(ends_at=datetime.now(UTC))
    wait_for("its end", lambda: stage.alerts()[0].status == "resolved")
    assert len(stage.alerts()) == 1


def test_a_silenced_alert_ends_though_its_end_is_never_sent(stage: Stage) -> None:
    stage.fire(zone="zone-b")
    wait_for("the alert", lambda: stage.alerts("zone-b"))
    stage.silence("zone-b")
    source = HttpAlertmanager(f"http://127.0.0.1:{stage.port}")
    wait_for("the silence", lambda: any(each.suppressed for each in source.standing()))

    later = stage.in_a_minute()
    with later.transaction() as tx:
        assert alerting.reconcile(tx, source.standing()) == 1
    later.close()
    (alert,) = stage.alerts("zone-b")
    assert (alert.status, alert.detail) == ("suppressed", "silenced or inhibited in Alertmanager")


def test_an_alert_that_stands_there_stands_here(stage: Stage) -> None:
    stage.fire(zone="zone-c")
    wait_for("the alert", lambda: stage.alerts("zone-c"))
    source = HttpAlertmanager(f"http://127.0.0.1:{stage.port}")
    later = stage.in_a_minute()
    with later.transaction() as tx:
        alerting.reconcile(tx, source.standing())
    later.close()
    assert [each.status for each in stage.alerts("zone-c")] == ["firing"]
