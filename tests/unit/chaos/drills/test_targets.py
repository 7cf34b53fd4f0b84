"""The same targets for the same run and fault, from what the selector allows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.drills.targets import choose
from chaos.drivers.memory import MemoryDriver
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import InvalidInput
from controlplane.model.drill import FaultSpec

NODES = {f"zone-{letter}": (f"node-{letter}1", f"node-{letter}2") for letter in "abc"}
FLEET = MemoryDriver(VirtualClock(), NODES).targets()


def spec(**fields: object) -> FaultSpec:
    return FaultSpec.model_validate({"name": "f", "kind": "zone.gray", "duration": "10s", **fields})


def test_one_of_the_named_zone_is_that_zone() -> None:
    chosen = choose(spec(selector={"zones": ["zone-b"]}), "zone", FLEET, "run-1")
    assert [str(target) for target in chosen] == ["chat/local/zone-b"]


def test_a_selector_of_zones_narrows_replicas() -> None:
    chosen = choose(spec(selector={"zones": ["zone-c"]}, mode="all"), "replica", FLEET, "run-1")
    assert {target.zone for target in chosen} == {"zone-c"}
    assert len(chosen) == 4


def test_a_per_cent_is_rounded_up_to_at_least_one() -> None:
    assert len(choose(spec(mode="fixedPercent", value=1), "replica", FLEET, "run-1")) == 1
    assert len(choose(spec(mode="fixedPercent", value=50), "replica", FLEET, "run-1")) == 6


def test_more_than_there_are_is_all_of_them() -> None:
    assert len(choose(spec(mode="fixed", value=99), "zone", FLEET, "run-1")) == 3


def test_a_name_that_the_fleet_does_not_have_is_an_error_that_lists_those_it_has() -> None:
    with pytest.raises(InvalidInput, match=r"no zone `zone-x`.*zone-a, zone-b, zone-c"):
        choose(spec(selector={"zones": ["zone-x"]}), "zone", FLEET, "run-1")


@given(st.text(min_size=1, max_size=20), st.permutations(FLEET))
def test_the_choice_depends_on_run_and_fault_alone(run: str, shuffled: list[object]) -> None:
    fault = spec(mode="fixed", value=2)
    assert choose(fault, "replica", shuffled, run) == choose(fault, "replica", FLEET, run)  # type: ignore[arg-type]
