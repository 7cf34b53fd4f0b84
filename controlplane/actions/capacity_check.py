"""`capacity.check`: would the rest of the fleet carry the load if a zone were taken out?

The demand is read where it is not distorted: in the zones that stay. A zone that answers slowly
holds its requests longer, so counting those would forbid the very evacuation that cures it.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field

from controlplane.actions import weights
from controlplane.kernel.durations import format_duration
from controlplane.kernel.errors import Unavailable
from controlplane.model.action import Action, ActionContext, Reach
from controlplane.model.base import Duration, Model
from controlplane.model.outcome import Done, Failed, FailureKind, Outcome
from controlplane.model.ports import Metrics
from controlplane.model.service import Service
from controlplane.observe.profile import Profile, shipped, target_labels
from controlplane.platforms.port import Platform

_INSIDE = ("running", "queue")
"""The measures whose sum is the requests inside an engine: in the batch, and waiting for a place in it."""

_LEAST_DEMAND = 1.0  # requests: an idle service has room, and the ratio stays a number


class CapacityParameters(Model):
    """Parameters of `capacity.check`."""

    without: str = Field(min_length=1, description="the zone that would be taken out")
    at_least: float = Field(
        1.05, gt=0, description="the least ratio of capacity to demand; 1 is full to the last slot"
    )
    per_replica: float | None = Field(
        None,
        gt=0,
        description="requests that one replica serves at once within its objectives, its SLA-compliant "
        "concurrency; when left out, as many as the platform says that its engine takes",
    )
    over: Duration = Field(
        30.0, gt=0, description="the demand is the mean over this time", validate_default=False
    )
    on_unknown: Literal["fail", "pass"] = Field(
        "fail", description="what it means when fleet or demand cannot be read"
    )


@dataclass(frozen=True, slots=True)
class _Rest:
    """The fleet without the zone: the zones that serve, their ready replicas, their share of the traffic.

    ``slots``: how many requests these replicas serve at once; None where the platform does not tell of all.
    """

    zones: list[str]
    replicas: int
    share: float
    slots: int | None


class CapacityCheck(Action[CapacityParameters]):
    """Compare what the other zones can carry with what they would have to.

    Capacity is what the ready replicas of the other zones with a weight above 0 serve at once: by
    what the platform says of each engine, or `perReplica` each.
    Demand is the requests that those zones hold now (running and waiting, mean over `over`), divided
    by their share of the traffic: what they would hold if all of it were theirs. The ratio of the two
    must be at least `atLeast`. Replicas that are loading or isolated do not count, nor do zones
    without one that serves. Nothing is changed.

    What cannot be read fails the step, and a retry may help; `onUnknown: pass` lets the run go on
    with a null ratio.

    ```yaml
    uses: capacity.check
    with: {without: zone-a, atLeast: 1.05}
    ```
    """

    name = "capacity.check"
    parameters = CapacityParameters
    reach = Reach.NONE
    permissions = ("list core/nodes", "list core/pods", "get gateway.networking.k8s.io/httproutes")
    outputs: ClassVar = {
        "ratio": "capacity over demand; null when it is not known",
        "healthyReplicas": "ready replicas in the zones that stay",
        "capacity": "requests that those serve at once",
        "demand": "requests that they would have to serve at once",
    }

    def run(self, parameters: CapacityParameters, context: ActionContext) -> Outcome:
        try:
            rest = _rest(parameters.without, context)
            if not rest.zones:
                return _refusal(parameters, rest, "no other zone has a ready replica and a weight above 0")
            capacity = (
                rest.slots if parameters.per_replica is None else rest.replicas * parameters.per_replica
            )
            if capacity is None:
                return _unknown(
                    parameters, "the platform does not tell what a replica serves: write `perReplica`"
                )
            query = demand_query(context.service, rest.zones, parameters.over)
            held = context.port(Metrics).instant(query)
        except Unavailable as error:
            return _unknown(parameters, str(error))
        if held is None:
            return _unknown(parameters, f"no data for {query}")
        demand = max(held / rest.share, _LEAST_DEMAND)
        ratio = capacity / demand
        numbers = (
            f"{rest.replicas} ready replicas in {', '.join(rest.zones)} serve {capacity:g} requests at once, "
            f"{demand:.1f} are to be expected without {parameters.without}: ratio {ratio:.2f}"
        )
        outputs = _outputs(round(ratio, 3), rest.replicas, round(float(capacity), 3), round(demand, 3))
        if ratio < parameters.at_least:
            return Failed(FailureKind.PERMANENT, f"{numbers}, under {parameters.at_least:g}", outputs)
        context.note(numbers)
        return Done(outputs)


def demand_query(service: Service, zones: list[str], over: float) -> str:
    """Return the PromQL for the requests that ``zones`` hold, as a mean over ``over`` seconds."""
    profile = _profiles()[service.spec.engine]
    labels = {service.spec.metric_labels.service: f'="{service.name}"'} if profile.scoped else {}
    labels[str(target_labels(profile, service).zone)] = f'=~"{"|".join(zones)}"'
    span = format_duration(over)

    def mean(name: str) -> str:
        measure = profile.measures[name]
        names = []
        for series in measure.series:
            own = {label: f'="{value}"' for label, value in {**measure.match, **series.match}.items()}
            selector = ",".join(f"{label}{match}" for label, match in {**labels, **own}.items())
            names.append(f"sum(avg_over_time({series.name}{{{selector}}}[{span}]))")
        return names[0] if len(names) == 1 else f"({' or '.join(names)})"

    return " + ".join(mean(measure) for measure in _INSIDE)


@functools.cache
def _profiles() -> dict[str, Profile]:
    return shipped()


def _rest(zone: str, context: ActionContext) -> _Rest:
    present = weights.read(context)
    weights.weight_of(zone, present)
    ready = {
        view.name: [replica.slots for replica in view.replicas if replica.serves]
        for view in context.port(Platform).topology(context.service.name).zones
        if view.name != zone and present.weights.get(view.name, 0) > 0 and view.serving_replicas > 0
    }
    slots = [each for found in ready.values() for each in found]
    known = [each for each in slots if each is not None]
    share = sum(present.share(name) for name in ready)
    return _Rest(list(ready), len(slots), share, sum(known) if len(known) == len(slots) else None)


def _outputs(
    ratio: float | None, replicas: int | None, capacity: float | None, demand: float | None
) -> dict[str, float | None]:
    return {"ratio": ratio, "healthyReplicas": replicas, "capacity": capacity, "demand": demand}


def _refusal(parameters: CapacityParameters, rest: _Rest, why: str) -> Failed:
    message = f"without {parameters.without} nothing is left: {why}"
    return Failed(FailureKind.PERMANENT, message, _outputs(0.0, rest.replicas, 0.0, None))


def _unknown(parameters: CapacityParameters, why: str) -> Outcome:
    outputs = _outputs(None, None, None, None)
    if parameters.on_unknown == "pass":
        return Done(outputs)
    return Failed(
        FailureKind.TRANSIENT, f"the capacity without {parameters.without} is not known: {why}", outputs
    )
