"""Published dashboards find in the lab what they find in the field: every query has finite, moving values.

The queries are those of ``tests/data/dashboards.json``, and of any Grafana dashboards in the folder
that ``FLEETWARD_DASHBOARDS`` names. Queries that stand still for a reason are listed in docs/lab.md.
"""

import json
import math
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.lab.conftest import Users

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
FOLDER = os.environ.get("FLEETWARD_DASHBOARDS")  # read before the tests' environment is cleaned
RATE_WINDOW = "10s"
WATCHED = 40  # seconds
VARIABLES = {
    "$__rate_interval": RATE_WINDOW,
    "$__interval": RATE_WINDOW,
    "$__range": "1m",
    "$model_name": "meta-llama/Llama-3.1-8B-Instruct",
    "$Deployment_id": "meta-llama/Llama-3.1-8B-Instruct",
    "$instance": ".*",
    "$gpu": ".*",
}


def in_grafana(panels: list[dict[str, Any]]) -> Iterator[str]:
    for panel in panels:
        for target in panel.get("targets", []):
            if expression := target.get("expr"):
                yield " ".join(expression.split())
        yield from in_grafana(panel.get("panels", []))


def queries() -> list[str]:
    found = json.loads((ROOT / "tests/data/dashboards.json").read_text())["dashboards"]
    expressions = [query for dashboard in found for query in dashboard["queries"]]
    if FOLDER:
        for path in sorted(Path(FOLDER).glob("*.json")):
            expressions += in_grafana(json.loads(path.read_text())["panels"])
    return list(dict.fromkeys(expressions))


def still() -> set[str]:
    """Queries that docs/lab.md lists as standing still, by what stands between backticks in its table."""
    section = (
        (ROOT / "docs/lab.md").read_text().split("## Queries that stand still", 1)[1].split("\n## ", 1)[0]
    )
    return set(re.findall(r"^\| `([^`]+)` \| \S", section, flags=re.MULTILINE))


def filled(expression: str) -> str:
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression, f"unknown variable in {expression}"
    return expression


def watch(users: Users, expression: str, end: float) -> list[list[float]]:
    """Values of each series over the watched time, a sample every 2 s."""
    response = users.http.get(
        users.url("prometheus") + "/api/v1/query_range",
        params={"query": expression, "start": end - WATCHED, "end": end, "step": 2},
    )
    document = response.json()
    assert document["status"] == "success", f"{expression}: {document}"
    return [[float(value) for _, value in series["values"]] for series in document["data"]["result"]]


@pytest.fixture(scope="module")
def end(running: object) -> float:
    """A moment after which the lab has been watched long enough."""
    time.sleep(WATCHED + 20)
    return time.time() - 1


@pytest.mark.parametrize("expression", queries())
def test_query_has_finite_values_that_move(users: Users, end: float, expression: str) -> None:
    series = watch(users, filled(expression), end)

    assert series, "no series"
    last = [values[-1] for values in series]
    assert sum(math.isfinite(value) for value in last) / len(last) >= 0.9  # 0/0 where nothing ended for 10 s
    moves = any(len({value for value in values if math.isfinite(value)}) > 1 for values in series)
    assert moves != (expression in still())
