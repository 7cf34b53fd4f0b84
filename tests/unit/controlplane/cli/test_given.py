"""Options that give durations and times: what makes no sense is refused, by the option's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from controlplane.cli import given
from controlplane.kernel.errors import InvalidInput
from controlplane.model.base import Model
from controlplane.model.burn_tiers import FastTier, Tier
from controlplane.model.service import Canary, Objectives
from controlplane.model.slo import NoData, SloSpec
from controlplane.model.slo_window import Window
from tests.unit.controlplane.cli.conftest import Result

Fleetward = Callable[..., Result]
pytestmark = pytest.mark.timeout(30)  # a whole command line, several times a test

COMMANDS = {
    "--ttft": ("engines", "check", "FILE"),
    "--tpot": ("engines", "check", "FILE"),
    "--window": ("slo", "import", "FILE"),
    "--since": ("backtest", "FILE", "--prometheus", "http://127.0.0.1:9"),
    "--for": ("halt", "--reason", "works"),
    "--expires": ("token", "create", "ada", "--role", "viewer"),
    "--timeout": ("playbook", "run", "shed-load", "--target", "chat"),
}


@pytest.mark.parametrize("option", COMMANDS)
def test_no_command_takes_a_duration_that_is_none(fleetward: Fleetward, tmp_path: Path, option: str) -> None:
    file = tmp_path / "file.yaml"
    file.write_text("# TYPE up gauge\nup 1\n")
    words = [str(file) if word == "FILE" else word for word in COMMANDS[option]]
    for text in ("0s", "600w", "nan"):
        assert str(fleetward(*words, f"{option}={text}").error).startswith(f"{option}: ")


@pytest.mark.parametrize("text", ["0s", "0", "0.1ms", "-5ms", "nan", "inf", "1e9s", "50", "600w", ""])
def test_a_duration_is_more_than_nothing_and_no_more_than_a_life(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^--tpot: "):
        given.duration(text, "--tpot")


def test_what_is_allowed_is_told() -> None:
    with pytest.raises(InvalidInput) as raised:
        given.duration("30m", "--window", least=3600.0, most=30 * 86400.0)
    assert (raised.value.message, raised.value.hint) == ("--window: 30m is too short", "from 1h to 4w2d")


@pytest.mark.parametrize("text", ["nan", "2026-11-31", "2026-11-30T25:00:00", "", "0001-01-01T00:00+10:00"])
def test_a_time_is_one(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^--from: "):
        given.moment(text, "--from")


def test_nothing_was_before_the_first_year(fleetward: Fleetward, tmp_path: Path) -> None:
    file = tmp_path / "file.yaml"
    file.write_text("")
    done = fleetward("backtest", file, "--to", "0001-01-01", "--since", "1d")
    assert str(done.error).startswith("--since: 1d before ")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (Objectives, "ttft"),
        (Objectives, "tpot"),
        (Canary, "every"),
        (Canary, "timeout"),
        (FastTier, "window"),
        (Tier, "long"),
        (Window, "rolling"),
        (NoData, "alertAfter"),
        (SloSpec, "threshold"),
    ],
)
def test_no_document_holds_one_that_is_none(model: type[Model], name: str) -> None:
    with pytest.raises(ValidationError) as raised:
        model.model_validate({name: "0s"})
    found = {error["loc"][-1]: error["type"] for error in raised.value.errors()}
    assert found[name] == "greater_than"
