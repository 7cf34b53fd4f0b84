"""What pyproject.toml lets other packages and the shell find is there, and is installed as it stands."""

import tomllib
from importlib.metadata import EntryPoint, entry_points

import pytest

from tests.meta.tree import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
GROUPS: dict[str, dict[str, str]] = PROJECT["entry-points"] | {"console_scripts": PROJECT["scripts"]}
POINTS = [
    EntryPoint(name, value, group) for group, points in GROUPS.items() for name, value in points.items()
]


@pytest.mark.parametrize("point", POINTS, ids=lambda point: f"{point.group}:{point.name}")
def test_entry_point_loads_something_callable(point: EntryPoint) -> None:
    assert callable(point.load())


@pytest.mark.parametrize("group", GROUPS)
def test_what_is_installed_is_what_is_written(group: str) -> None:
    found = {
        point.name: point.value
        for point in entry_points(group=group)
        if point.dist and point.dist.name == PROJECT["name"]
    }
    assert found == GROUPS[group], "run `make setup`"


def test_a_point_that_leads_nowhere_is_found() -> None:
    with pytest.raises(ModuleNotFoundError):
        EntryPoint("a", "controlplane.nowhere:register", "fleetward.actions").load()
