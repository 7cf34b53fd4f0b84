"""The scrape configuration: every endpoint of the lab, with the labels that queries group by."""

import json
from pathlib import Path
from typing import Any

import pytest

from chaos.lab import prometheus
from chaos.lab.layout import LabSettings, Layout, plan


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return plan(tmp_path, LabSettings())


def job(layout: Layout, name: str) -> dict:
    return next(job for job in prometheus.config(layout)["scrape_configs"] if job["job_name"] == name)


def engines(layout: Layout) -> list[dict[str, Any]]:
    """What Prometheus finds in the file that it watches."""
    (watched,) = job(layout, "vllm")["file_sd_configs"]
    (file,) = watched["files"]
    found: list[dict[str, Any]] = json.loads(Path(file).read_text())
    return found


def test_engines_get_the_place_they_know_nothing_of(layout: Layout) -> None:
    prometheus.write_config(layout)
    target = engines(layout)[0]
    replica = layout.nodes[0].replicas[0]

    assert target == {
        "targets": [f"127.0.0.1:{replica.port}"],
        "labels": {
            "service": "chat",
            "cluster": "local",
            "zone": "zone-a",
            "node": "node-a1",
            "replica": "replica-a1-0",
        },
    }


def test_there_is_one_target_per_replica_and_one_gpu_exporter_per_node(layout: Layout) -> None:
    prometheus.write_config(layout)
    assert len(engines(layout)) == 12
    assert [target["labels"]["Hostname"] for target in job(layout, "dcgm")["static_configs"]] == [
        "node-a1",
        "node-a2",
        "node-b1",
        "node-b2",
        "node-c1",
        "node-c2",
    ]


def test_a_standby_replica_is_scraped_while_it_runs(layout: Layout) -> None:
    standby = layout.nodes[0].standby[0]
    prometheus.write_targets(layout, [standby.name])
    assert [each["targets"] for each in engines(layout)] == [[f"127.0.0.1:{standby.port}"]]


def test_the_zone_of_a_gateway_series_comes_from_its_clusters_name(layout: Layout) -> None:
    assert job(layout, "envoy")["metric_relabel_configs"] == [
        {
            "source_labels": ["envoy_cluster_name"],
            "regex": "chat-(zone-a|zone-b|zone-c)",
            "target_label": "zone",
            "replacement": "$1",
        }
    ]


def test_a_scrape_ends_before_the_next_one_begins(layout: Layout) -> None:
    assert prometheus.config(layout)["global"] == {
        "scrape_interval": "2000ms",
        "scrape_timeout": "1500ms",
    }


def test_a_new_fleet_starts_without_the_series_of_the_last(layout: Layout) -> None:
    prometheus.data_path(layout).mkdir(parents=True)
    (prometheus.data_path(layout) / "wal").write_text("old")

    prometheus.write_config(layout)

    assert not prometheus.data_path(layout).exists()
    assert prometheus.config_path(layout).exists()
