"""From a drill to the steps that the engine runs, and to the run itself.

Every drill has the same steps: preconditions, one injection per fault or the start of its exercise,
observe, judge, revert, restored, report. A drill that cannot be carried out here (another
environment, an unknown fault, a fault that the driver cannot do) is refused before anything is
written.
"""

from __future__ import annotations

from chaos.drills.ports import DrillPorts
from chaos.faults.base import read_parameters
from controlplane.act.plan import RunPlan
from controlplane.act.start import StartRequest, Wake, start_run
from controlplane.kernel.durations import format_duration
from controlplane.kernel.errors import InvalidInput, NotFound, Refused
from controlplane.model.drill import Drill, FaultSpec
from controlplane.model.playbook import Step
from controlplane.model.records import Run
from controlplane.store.transaction import Transaction

GRACE = 30.0
"""Seconds that a fault may stand longer than its duration before it ends by itself: time to judge."""
SLACK = 60.0
"""Seconds that a step may take beyond what it waits for."""
REPORT_TIME = 240.0
"""Seconds for the report: it waits for two minutes of arrivals and for their answers."""

MET = "steps.preconditions.outputs.met"
"""Condition of every step that presupposes that the drill was begun."""


def inject_step(fault: FaultSpec) -> str:
    """Return the id of the step that injects a fault."""
    return f"inject-{fault.name}"


def compile_drill(drill: Drill) -> RunPlan:
    """Return the steps of a drill."""
    spec = drill.spec
    stands = (
        spec.exercise.within
        if spec.exercise is not None
        else max(fault.start_after + fault.duration for fault in spec.faults)
    )
    steps = [
        _step("preconditions", spec.preconditions.timeout, condition=None),
        *(_step(inject_step(one), one.start_after, uses="inject", fault=one.name) for one in spec.faults),
        *([] if spec.exercise is None else [_step("exercise", GRACE)]),
        _step("observe", stands + GRACE),
        _step("judge", GRACE),
        _step("revert", 120.0),
        _step("restored", spec.recovery.restored_within),
        _step("report", REPORT_TIME, condition=None),
    ]
    return RunPlan(steps=tuple(steps), limits=spec.limits)


def _step(name: str, seconds: float, *, uses: str = "", condition: str | None = MET, **given: str) -> Step:
    body = {
        "id": name,
        "uses": f"drill.{uses or name}",
        "with": given,
        "if": condition,
        "timeout": format_duration(seconds + SLACK),
        "retry": {"limit": 3, "backoff": {"duration": "1s", "maxDuration": "3s"}},
    }
    return Step.model_validate(body)


def start_drill(
    tx: Transaction, drill: Drill, ports: DrillPorts, *, started_by: str, wake: Wake | None = None
) -> Run:
    """Store the drill's revision and start its run.

    Raises `InvalidInput` for a fault that does not exist or takes other parameters, `NotFound` for
    an unknown service or playbook, `Refused` when the driver cannot do a fault.
    """
    check_drill(drill, ports)
    exercise = drill.spec.exercise
    if exercise is not None and tx.documents.find("Playbook", exercise.playbook) is None:
        raise NotFound(f"no playbook `{exercise.playbook}`, which {drill.name} runs")
    pins = {"Drill": tx.documents.put(drill)}
    service = tx.documents.find("Service", drill.spec.service)
    if service is None:
        raise NotFound(f"no service `{drill.spec.service}`, which {drill.name} is about")
    pins["Service"] = service.sha256
    policies = tx.documents.active("Policy")
    if policies:
        pins["Policy"] = policies[0].sha256
    request = StartRequest(
        kind="drill",
        name=drill.name,
        service=drill.spec.service,
        plan=compile_drill(drill),
        pins=pins,
        target=str(service.body["metadata"]["name"]) + "/" + str(service.body["spec"]["cluster"]),
        started_by=started_by,
        reason=drill.spec.purpose,
        group=f"drill/{drill.spec.service}",
        on_conflict="skip",
    )
    return start_run(tx, request, wake)


def check_drill(drill: Drill, ports: DrillPorts) -> None:
    """Raise unless every fault exists, takes its parameters, and can be done by the driver."""
    names = [fault.name for fault in drill.spec.faults]
    if len(set(names)) < len(names):
        raise InvalidInput(f"two faults of {drill.name} have one name")
    for spec in drill.spec.faults:
        fault = ports.faults.get(spec.kind)
        read_parameters(fault, spec.parameters)
        missing = fault.needs - ports.driver.capabilities
        if missing:
            raise Refused(f"`{spec.kind}` cannot be done here: the driver lacks {', '.join(sorted(missing))}")
        if spec.mode in {"fixed", "fixedPercent"} and spec.value is None:
            raise InvalidInput(f"fault `{spec.name}`: mode {spec.mode} needs a value")
