"""One place is meant: what names none, or two, is an error that says what would be right."""

from dataclasses import dataclass

import pytest

from controlplane.actions import places
from controlplane.kernel.errors import InvalidInput, NotFound
from controlplane.model.target import Target


@dataclass(frozen=True)
class Thing:
    name: str


def node(zone: str, name: str) -> tuple[Target, Thing]:
    return Target("chat", "local", zone, name), Thing(name)


ALL = [node("zone-a", "node-1"), node("zone-a", "node-2"), node("zone-b", "node-2")]


def find(target: str | None = None, name: str | None = None) -> tuple[Target, Thing]:
    return places.find(ALL, target=target, name=name, what="node", service="chat")


def test_a_place_is_found_by_its_target_or_by_a_name_that_only_it_bears() -> None:
    assert find(name="node-1") == ALL[0]
    assert find(target="chat/local/zone-b/node-2") == ALL[2]


def test_a_name_that_two_bear_asks_for_the_target() -> None:
    with pytest.raises(InvalidInput, match="2 nodes are called `node-2`") as refused:
        find(name="node-2")
    assert refused.value.hint == "write `target` instead of `node`"


def test_what_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(NotFound, match="chat has no node `nod-1`") as missing:
        find(name="nod-1")
    assert "node-1" in str(missing.value.hint)


def test_what_stands_at_a_target_is_looked_up_or_gone() -> None:
    assert places.at(ALL[1][0], ALL) == Thing("node-2")
    with pytest.raises(NotFound, match="is gone"):
        places.at(Target("chat", "local", "zone-c", "node-1"), ALL)
