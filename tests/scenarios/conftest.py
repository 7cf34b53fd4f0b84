"""Fleets in virtual time for the drills of this folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.drill_world import Controlplane, World


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[Controlplane], World]]:
    """Make worlds that have lived for a while under a control plane; they are closed in the end."""
    worlds: list[World] = []

    def build(controlplane: Controlplane) -> World:
        worlds.append(World(tmp_path, controlplane))
        worlds[-1].live(20)
        return worlds[-1]

    yield build
    for world in worlds:
        world.database.close()
