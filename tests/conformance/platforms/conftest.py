"""The platforms that the suite runs against."""

from collections.abc import Iterator

import pytest

from tests.support import lab_gateway
from tests.support.fleets import Fleet, LabFleet, MemoryFleet


@pytest.fixture(scope="session")
def small_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab_gateway.SmallLab]:
    with lab_gateway.start(tmp_path_factory.mktemp("lab")) as lab:
        yield lab


@pytest.fixture(params=["memory", pytest.param("lab", marks=pytest.mark.slow)])
def fleet(request: pytest.FixtureRequest) -> Iterator[Fleet]:
    if request.param == "memory":
        yield MemoryFleet()
        return
    found = LabFleet(request.getfixturevalue("small_lab"))
    yield found
    found.close()
