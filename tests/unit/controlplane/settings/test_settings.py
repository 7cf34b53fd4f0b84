"""Settings: defaults are pinned, the environment overrides them, a running fleet fills what is unset."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controlplane.kernel.errors import Unavailable
from controlplane.settings import Settings


def test_the_defaults_are_what_the_docs_say() -> None:
    assert Settings().model_dump() == {
        "state_dir": Path(".fleetward"),
        "database_url": None,
        "broker_url": None,
        "prometheus_url": None,
        "alertmanager_url": None,
        "platform_url": None,
        "api_host": "127.0.0.1",
        "api_port": 8700,
        "api_hosts": (),
        "outgoing_hosts": (),
        "tick_seconds": 2.0,
        "lag_seconds": 0.3,
        "lease_seconds": 15.0,
    }


def test_the_environment_wins_over_what_a_fleet_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lab.json").write_text(
        json.dumps({"prometheus": "http://127.0.0.1:1", "platform": "http://127.0.0.1:2"})
    )
    monkeypatch.setenv("FLEETWARD_PROMETHEUS_URL", "http://prometheus.example")
    settings = Settings(state_dir=tmp_path)
    assert settings.prometheus == "http://prometheus.example"
    assert settings.platform == "http://127.0.0.1:2"


def test_an_address_that_nobody_knows_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="FLEETWARD_BROKER_URL"):
        _ = Settings(state_dir=tmp_path).broker
    assert Settings(state_dir=tmp_path).api == "http://127.0.0.1:8700"


def test_hosts_are_written_with_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLEETWARD_API_HOSTS", "console.example, ops.example,")
    assert Settings().api_hosts == ("console.example", "ops.example")
