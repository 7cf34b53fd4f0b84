"""A node's file is read whole or refused by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chaos.lab.node.config import NodeConfig
from controlplane.kernel.errors import InvalidInput, NotFound

VALID: dict[str, Any] = {
    "service": "chat",
    "cluster": "local",
    "zone": "zone-a",
    "node": "node-a1",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "seed": 7,
    "replicas": [
        {"name": "replica-a1-0", "port": 8100, "gpuUuid": "GPU-0"},
        {"name": "replica-a1-1", "port": 8101, "gpuUuid": "GPU-1"},
    ],
    "dcgmPort": 9400,
    "socket": "/run/node-a1.sock",
    "engine": {"loadTime": 1.5},
}


def load(folder: Path, **changes: Any) -> NodeConfig:
    path = folder / "node.json"
    path.write_text(json.dumps(VALID | changes))
    return NodeConfig.load(path)


def test_overrides_change_only_what_they_name(tmp_path: Path) -> None:
    config = load(tmp_path)
    assert (config.engine.load_time, config.engine.max_num_seqs) == (1.5, 8)


def test_what_is_dumped_is_loaded_again(tmp_path: Path) -> None:
    config = load(tmp_path)
    path = tmp_path / "again.json"
    path.write_text(config.model_dump_json(by_alias=True))
    assert NodeConfig.load(path) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"engine": {"loadTime": -1}}, "engine.loadTime"),
        ({"engine": {"loadtime": 1}}, "engine.loadtime"),
        ({"replicas": []}, "replicas"),
        ({"replicas": [VALID["replicas"][0]] * 2}, "replica names repeat"),
        ({"dcgmPort": 8100}, "ports repeat"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_wrong_field_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        load(tmp_path, **changes)


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no node configuration"):
        NodeConfig.load(tmp_path / "none.json")
