"""An empty database with today's schema, on a virtual clock."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.kernel.clock import VirtualClock
from controlplane.store.database import Database
from tests.support.rig import fresh_database


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def database(tmp_path: Path, clock: VirtualClock) -> Iterator[Database]:
    found = fresh_database(tmp_path, clock)
    yield found
    found.close()
