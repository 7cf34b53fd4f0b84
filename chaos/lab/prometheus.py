"""The configuration of the lab's Prometheus: who is scraped, and which labels a target gets.

Engines know nothing of zones; the labels service, cluster, zone, node and replica are added at
the scrape, as a PodMonitor's relabelling would. It starts nothing.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from chaos.lab.gateway.envoy import cluster_name
from chaos.lab.layout import Layout
from controlplane.kernel.errors import Unavailable

RETENTION = "6h"
"""A lab's life is minutes to hours, and a longer history would cost memory that a laptop has not."""

ENVIRONMENT = {"GOGC": "60", "GOMAXPROCS": "2"}
"""Trades a little CPU for memory: a heap of twice the live data is the default."""


def config_path(layout: Layout) -> Path:
    """The configuration file."""
    return layout.state_dir / "prometheus" / "prometheus.yml"


def data_path(layout: Layout) -> Path:
    """The time series. Emptied for a fleet that starts anew: its targets' ports are others."""
    return layout.state_dir / "prometheus" / "data"


def write_config(layout: Layout) -> None:
    """Write the configuration (JSON is YAML) and forget the series of an earlier fleet."""
    path = config_path(layout)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_text(json.dumps(config(layout), indent=1))
    write_targets(layout, [replica.name for node in layout.nodes for replica in node.replicas])
    shutil.rmtree(data_path(layout), ignore_errors=True)


def targets_path(layout: Layout) -> Path:
    """The engines that are scraped; it changes with them, and Prometheus notices."""
    return layout.state_dir / "prometheus" / "targets" / "replicas.json"


def write_targets(layout: Layout, running: Iterable[str]) -> None:
    """Let the engines in these slots be scraped."""
    names = set(running)
    base = {"service": layout.settings.service, "cluster": layout.settings.cluster}
    found = [
        _target(slot.port, {**base, "zone": node.zone, "node": node.node, "replica": slot.name})
        for node in layout.nodes
        for slot in node.slots
        if slot.name in names
    ]
    path = targets_path(layout)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(found, indent=1))
    draft.replace(path)


def command(layout: Layout) -> list[str]:
    """The argument vector. Raises Unavailable if Prometheus is not installed."""
    program = shutil.which("prometheus")
    if program is None:
        raise Unavailable("prometheus is not in PATH", hint="install the prometheus package of your system")
    return [
        program,
        f"--config.file={config_path(layout)}",
        f"--storage.tsdb.path={data_path(layout)}",
        f"--storage.tsdb.retention.time={RETENTION}",
        "--storage.tsdb.wal-compression",
        f"--web.listen-address=127.0.0.1:{layout.prometheus_port}",
        "--query.max-concurrency=4",
        "--query.timeout=10s",
        "--log.level=warn",
    ]


def config(layout: Layout) -> dict[str, Any]:
    """The configuration document."""
    settings = layout.settings
    base = {"service": settings.service, "cluster": settings.cluster}
    nodes = [({**base, "zone": node.zone, "node": node.node}, node) for node in layout.nodes]
    return {
        "global": {
            "scrape_interval": f"{settings.scrape_interval * 1000:.0f}ms",  # no fractions in its durations
            "scrape_timeout": f"{settings.scrape_interval * 750:.0f}ms",
        },
        "scrape_configs": [
            {"job_name": "vllm", "file_sd_configs": [{"files": [str(targets_path(layout))]}]},
            # The exporters' own labels (Hostname, pod, node) win over the target's.
            {
                "job_name": "dcgm",
                "honor_labels": True,
                "static_configs": [
                    _target(node.dcgm_port, {**labels, "Hostname": node.node}) for labels, node in nodes
                ],
            },
            {
                "job_name": "kube-state-metrics",
                "honor_labels": True,
                "static_configs": [_target(layout.platform_port, {"cluster": settings.cluster})],
            },
            {
                "job_name": "envoy",
                "metrics_path": "/stats/prometheus",
                "static_configs": [_target(layout.admin_port, base)],
                "metric_relabel_configs": [
                    {
                        "source_labels": ["envoy_cluster_name"],
                        "regex": cluster_name(settings.service, f"({'|'.join(layout.zones)})"),
                        "target_label": "zone",
                        "replacement": "$1",
                    }
                ],
            },
            {
                "job_name": "traffic",
                "honor_labels": True,  # it says itself which zone answered
                "static_configs": [_target(layout.traffic_port, base)],
            },
        ],
    }


def _target(port: int, labels: dict[str, str]) -> dict[str, Any]:
    return {"targets": [f"127.0.0.1:{port}"], "labels": labels}
