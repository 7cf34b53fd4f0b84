"""The text of a fresh incarnation is vLLM 0.20.0's: family by family, label by label, bound by bound."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from chaos.lab.node.exposition import Exposition
from chaos.lab.node.families import token_buckets
from chaos.lab.node.metrics import EngineMetrics
from chaos.lab.node.process_metrics import register_process
from chaos.lab.settings import EngineSettings

GOLDEN = json.loads((Path(__file__).parent / "vllm_0_20_0_families.json").read_text())
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def parse(text: str) -> list[dict[str, Any]]:
    """Read an exposition: families in order, each with its series and their labels in order."""
    families: list[dict[str, Any]] = []
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, text_of_help = line.removeprefix("# HELP ").split(" ", 1)
            families.append({"name": name, "help": text_of_help, "series": []})
        elif line.startswith("# TYPE "):
            assert line.split()[2] == families[-1]["name"]
            families[-1]["type"] = line.split()[3]
        else:
            name = re.split(r"[{ ]", line, maxsplit=1)[0]
            families[-1]["series"].append((name, _LABEL.findall(line)))
    return families


@pytest.fixture(scope="module")
def families() -> list[dict[str, Any]]:
    registry = CollectorRegistry()
    register_process(registry, 0.0)
    EngineMetrics(registry, "m", EngineSettings())
    return parse(Exposition(registry).text().decode())


def test_families_come_in_the_order_and_words_of_vllm(families: list[dict[str, Any]]) -> None:
    assert [(f["name"], f["type"], f["help"]) for f in families] == [
        (f["name"], f["type"], f["help"]) for f in GOLDEN["families"]
    ]


@pytest.mark.parametrize("golden", GOLDEN["families"], ids=lambda golden: golden["name"])
def test_every_series_has_the_labels_of_vllm_in_their_order(
    families: list[dict[str, Any]], golden: dict[str, Any]
) -> None:
    family = next(f for f in families if f["name"] == golden["name"])
    labels = {" ".join(name for name, _ in pairs if name != "le") for _, pairs in family["series"]}
    assert labels == {golden["labels"]}
    for _, pairs in family["series"]:
        assert [name for name, _ in pairs] == sorted(name for name, _ in pairs)


@pytest.mark.parametrize(
    "golden", [f for f in GOLDEN["families"] if "le" in f], ids=lambda golden: golden["name"]
)
def test_every_histogram_has_the_bounds_of_vllm(
    families: list[dict[str, Any]], golden: dict[str, Any]
) -> None:
    series = next(f for f in families if f["name"] == golden["name"])["series"]
    bounds = [dict(pairs)["le"] for name, pairs in series if name.endswith("_bucket")]
    assert bounds == GOLDEN["buckets"][golden["le"]].split()
    assert [name for name, _ in series[-2:]] == [f"{golden['name']}_count", f"{golden['name']}_sum"]


@pytest.mark.parametrize(
    "golden", [f for f in GOLDEN["families"] if "children" in f], ids=lambda golden: golden["name"]
)
def test_labelled_families_have_all_their_children_from_the_start(
    families: list[dict[str, Any]], golden: dict[str, Any]
) -> None:
    series = next(f for f in families if f["name"] == golden["name"])["series"]
    extra = next(name for name in golden["labels"].split() if name not in {"engine", "model_name"})
    assert [dict(pairs)[extra] for _, pairs in series] == golden["children"]


def test_token_buckets_end_at_the_longest_request() -> None:
    assert token_buckets(4096) == (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
