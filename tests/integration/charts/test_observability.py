"""Fleetward's own dashboard and alerts, as Prometheus' own tool judges them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

CHARTS = Path(__file__).parents[3] / "charts" / "observability"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed"),
]


def promtool(*words: str) -> str:
    done = subprocess.run(
        ["promtool", *words], cwd=CHARTS, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_alerts_are_rules_and_fire_when_they_should_and_only_then() -> None:
    assert "SUCCESS" in promtool("check", "rules", "alerts.yaml")
    promtool("test", "rules", "alerts.test.yaml")
    named = re.findall(r"alert: (\w+)", (CHARTS / "alerts.yaml").read_text("utf-8"))
    tried = (CHARTS / "alerts.test.yaml").read_text("utf-8")
    assert [name for name in named if name not in tried] == []


def test_every_panel_asks_what_prometheus_understands(tmp_path: Path) -> None:
    panels = json.loads((CHARTS / "dashboard.json").read_text("utf-8"))["panels"]
    asked = [
        target["expr"].replace("$__rate_interval", "1m") for panel in panels for target in panel["targets"]
    ]
    rules = [{"record": f"panel:{index}", "expr": expression} for index, expression in enumerate(asked)]
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    assert f"{len(asked)} rules found" in promtool("check", "rules", str(tmp_path / "rules.yaml"))
