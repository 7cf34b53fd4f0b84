"""``fleetward slo``: what is printed where, and the exit codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.cli.context import database
from controlplane.kernel.errors import InvalidDocuments
from controlplane.kernel.yaml import load_documents
from tests.support.standing import leave
from tests.unit.controlplane.cli.conftest import Result

Fleetward = Callable[..., Result]
pytestmark = pytest.mark.timeout(30)  # a whole command line, several times a test

OWN = """\
apiVersion: fleetward.dev/v1
kind: SLO
metadata: {name: shop-orders}
spec:
  service: shop
  indicator:
    bad: sum(rate(orders_total{code=~"5.."}[{{ window }}]))
    total: sum(rate(orders_total[{{ window }}]))
  target: 99.9%
  by: [service]
"""


def saved(folder: Path, text: str) -> Path:
    file = folder / "slo.yaml"
    file.write_text(text)
    return file


def test_rules_are_printed_as_a_rule_file(fleetward: Fleetward, tmp_path: Path) -> None:
    done = fleetward("slo", "rules", saved(tmp_path, OWN))
    groups = next(load_documents(done.text, "rules")).data["groups"]
    assert done.code == 0
    assert [group["name"] for group in groups] == [
        f"fleetward-slo-{what}-shop-orders" for what in ("sli-recordings", "meta-recordings", "alerts")
    ]
    again = fleetward("slo", "rules", saved(tmp_path, OWN), "-o", "json").json()
    assert again["groups"] == groups


def test_what_cannot_be_said_in_rules_is_no_success(fleetward: Fleetward, tmp_path: Path) -> None:
    canary = OWN[: OWN.index("  indicator:")] + "  indicator: canary\n  target: 99%\n"
    assert fleetward("slo", "rules", saved(tmp_path, canary)).code == 1
    assert fleetward("slo", "rules", saved(tmp_path, "")).code == 1
    wrong = fleetward("slo", "rules", saved(tmp_path, OWN.replace("99.9%", "999")))
    assert isinstance(wrong.error, InvalidDocuments)


PYRRA = """\
apiVersion: pyrra.dev/v1alpha1
kind: ServiceLevelObjective
metadata: {name: orders, namespace: shop}
spec:
  target: "99"
  window: 4w
  indicator: {ratio: {errors: {metric: 'o{c="5"}'}, total: {metric: o}}}
"""


def test_what_is_imported_validates_and_goes_on_as_rules(fleetward: Fleetward, tmp_path: Path) -> None:
    done = fleetward("slo", "import", saved(tmp_path, PYRRA))
    assert done.code == 0
    own = saved(tmp_path, done.text)
    assert fleetward("validate", own).code == 0
    assert "slo:sli_error:ratio_rate4w" in fleetward("slo", "rules", own).text


def test_what_cannot_be_imported_is_no_success(fleetward: Fleetward, tmp_path: Path) -> None:
    assert fleetward("slo", "import", saved(tmp_path, OWN)).code == 1
    short = fleetward("slo", "import", saved(tmp_path, PYRRA), "--window", "5m")
    assert "--window: 5m is too short" in str(short.error)


def test_how_objectives_stand_is_told_as_the_controller_left_it(fleetward: Fleetward, tmp_path: Path) -> None:
    assert "no controller has looked yet" in fleetward("slo", "status").text
    with database(tmp_path / "state") as opened:
        leave(opened)
    said = fleetward("slo", "status").text
    burning = next(line for line in said.splitlines() if "chat-success" in line).split()
    assert burning == ["chat-success", "99.9%", "30d", "bad", "99.925%", "25.0%", "7.2", "1d1h", "page"]
    assert next(line for line in said.splitlines() if "chat-few" in line).split()[-3:] == ["?", "?", "?"]
    found = fleetward("slo", "status", "-o", "json").json()
    assert found[0]["objectives"][0]["timeToExhaustion"] == 90000.0


def test_an_objective_explains_what_it_rests_on(fleetward: Fleetward, tmp_path: Path) -> None:
    with database(tmp_path / "state") as opened:
        leave(opened)
    said = fleetward("slo", "explain", "chat-success").text
    for part in (
        "100000 events, 75 bad; 100.0% observed",
        "25.00% left, burning 7.2: spent in 1d1h",
        "the long and the short window is under its factor",
        "fewer than 10 events",
        "chat/local",
    ):
        assert part in said
    assert "fewer than 10 events were counted" in fleetward("slo", "explain", "chat-few").text
    assert "did you mean `chat-few`?" in str(fleetward("slo", "explain", "chat-fww").error)
