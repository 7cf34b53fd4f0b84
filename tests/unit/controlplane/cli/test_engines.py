"""``fleetward engines check``: what an operator is told of their own fleet, and the exit codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from controlplane.kernel.errors import InvalidInput, NotFound
from tests.unit.controlplane.cli.conftest import Result

Fleetward = Callable[..., Result]
pytestmark = pytest.mark.timeout(30)  # a whole command line, several times a test

SGLANG = """\
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{tp_rank="0"} 2
sglang:num_aborted_requests_total 1
sglang:num_requests_total 9
sglang:realtime_tokens_total{mode="decode",tp_rank="0"} 9
sglang:max_total_num_tokens 4
sglang:inter_token_latency_seconds_bucket{le="0.04"} 3
sglang:inter_token_latency_seconds_bucket{le="0.06"} 3
"""


def saved(folder: Path, text: str) -> Path:
    file = folder / "metrics.txt"
    file.write_text(text)
    return file


def test_it_tells_the_engine_its_release_and_every_indicator(fleetward: Fleetward, tmp_path: Path) -> None:
    done = fleetward("engines", "check", saved(tmp_path, SGLANG))
    assert done.code == 0
    assert "SGLang 0.5.9 to 0.5.19 (certain)" in done.text
    assert "0.05 s is no bucket bound: judged at 0.04 s" in done.text
    assert "unavailable" in done.text


def test_programs_get_one_value(fleetward: Fleetward, tmp_path: Path) -> None:
    done = fleetward("engines", "check", saved(tmp_path, SGLANG), "--tpot", "60ms", "-o", "json")
    found = done.json()
    assert (done.code, found["recognised"]["profile"], found["recognised"]["kind"]) == (0, "sglang", "engine")
    rows = {each["indicator"]: each for each in found["indicators"]}
    assert {each["family"] for each in rows.values()} == set(range(1, 19))
    assert rows["tokens_per_second"]["series"] == ['sglang:realtime_tokens_total{mode="decode"}']
    assert (rows["success"]["grade"], rows["success"]["bound"]) == ("bounded", "lower")
    assert rows["itl"]["notes"] == ["0.06 s is a bucket bound"]
    assert rows["etpm"]["with"]["sources"] == ["clients"]


def test_a_broken_line_is_named_and_does_not_matter(fleetward: Fleetward, tmp_path: Path) -> None:
    done = fleetward("engines", "check", saved(tmp_path, SGLANG.replace(" 9\n", " nine\n", 1)), "-o", "json")
    assert done.code == 0
    assert done.json()["broken"][0].startswith("line 4: ")


@pytest.mark.parametrize("text", ["<html>", "shop_orders_total 3\n", "", SGLANG + "sglang:token_us"])
def test_what_is_nobodys_metrics_is_exit_code_1(fleetward: Fleetward, tmp_path: Path, text: str) -> None:
    done = fleetward("engines", "check", saved(tmp_path, text))
    assert (done.code, done.error) == (1, None)


def test_what_cannot_be_read_is_an_error_with_advice(fleetward: Fleetward, tmp_path: Path) -> None:
    gone = fleetward("engines", "check", tmp_path / "none.txt").error
    assert isinstance(gone, NotFound)
    assert gone.hint
    assert isinstance(
        fleetward("engines", "check", saved(tmp_path, SGLANG), "--ttft", "1").error, InvalidInput
    )
