"""The shipped drills can be carried out, and what cannot be is refused before it starts."""

from pathlib import Path

import pytest

from chaos.drills.actions import register
from chaos.drills.compile import GRACE, check_drill, compile_drill
from chaos.drills.library import shipped_drills
from chaos.drills.ports import DrillPorts, lab_ports
from chaos.drivers.memory import MemoryDriver
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import InvalidInput, Refused
from controlplane.kernel.registry import Registry
from controlplane.model.action import ActionRegistry
from controlplane.model.drill import Drill


@pytest.fixture
def actions() -> ActionRegistry:
    registry: ActionRegistry = Registry("action")
    register(registry)
    return registry


@pytest.fixture
def ports(tmp_path: Path) -> DrillPorts:
    found = lab_ports(tmp_path)[DrillPorts]
    assert isinstance(found, DrillPorts)
    return found


def changed(drill: Drill, **fault: object) -> Drill:
    first = drill.spec.faults[0].model_copy(update=fault)
    return drill.model_copy(update={"spec": drill.spec.model_copy(update={"faults": (first,)})})


def test_the_shipped_drills_are_those_of_the_catalogue() -> None:
    assert sorted(shipped_drills()) == [
        "budget-freeze",
        "crash-loop",
        "engine-hang",
        "gpu-error",
        "gray-replica",
        "gray-zone",
        "load-growth",
        "load-surge",
        "node-loss",
        "prometheus-down",
        "rolling-restart",
        "zone-outage",
        "zone-return",
    ]


@pytest.mark.parametrize("name", sorted(shipped_drills()))
def test_a_shipped_drill_can_be_carried_out(name: str, ports: DrillPorts, actions: ActionRegistry) -> None:
    drill = shipped_drills()[name]
    check_drill(drill, ports)
    steps = compile_drill(drill).steps
    assert [step.uses in actions for step in steps] == [True] * len(steps)
    for step in steps:
        actions.get(step.uses).parameters.model_validate(step.with_)


@pytest.mark.parametrize("name", sorted(shipped_drills()))
def test_a_demo_of_it_ends_within_four_minutes(name: str) -> None:
    spec = shipped_drills()[name].spec
    stands = max((fault.duration for fault in spec.faults), default=0)
    exercised = spec.exercise.within if spec.exercise is not None else 0
    start, healthy, stages, looking, tokens = 15, 20, 30, 15, 120 + 30
    course = max(stands + healthy + stages + looking, exercised + looking, tokens)
    assert start + spec.preconditions.steady_for + course < 240


def test_every_step_says_what_its_outputs_mean(actions: ActionRegistry) -> None:
    for action in actions:
        assert action.__class__.__doc__
        assert action.name.startswith("drill.")
        assert all(action.outputs.values())


def test_a_step_outlives_the_fault_it_watches() -> None:
    drill = shipped_drills()["gray-zone"]
    observe = compile_drill(drill).step("observe")
    assert observe.timeout > drill.spec.faults[0].duration + GRACE


def test_an_unknown_fault_is_refused_with_the_nearest_name(ports: DrillPorts) -> None:
    with pytest.raises(InvalidInput, match=r"did you mean `zone.gray`"):
        check_drill(changed(shipped_drills()["gray-zone"], kind="zone.grey"), ports)


def test_a_wrong_parameter_is_refused(ports: DrillPorts) -> None:
    with pytest.raises(InvalidInput, match="factor"):
        check_drill(changed(shipped_drills()["gray-zone"], parameters={"factor": 1}), ports)


def test_a_drill_is_refused_when_the_driver_cannot_do_its_fault(ports: DrillPorts, tmp_path: Path) -> None:
    weak = MemoryDriver(VirtualClock(), {"zone-a": ("node-a1",)})
    weak.capabilities = frozenset({"kill"})
    able = DrillPorts(weak, ports.evidence, ports.faults, tmp_path)
    with pytest.raises(Refused, match="the driver lacks slow"):
        check_drill(shipped_drills()["gray-zone"], able)
