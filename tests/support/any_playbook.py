"""Any fleet, any policy, any playbooks that fit it: graphs, loops, retries, groups, throttles, ladders.

Strategies only. What they draw is valid by the models; whether it is wise is what the engine and
its guards are there for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from controlplane.model.playbook import Playbook
from controlplane.model.policy import Policy
from controlplane.model.service import Service
from controlplane.model.target import Target

Doing = dict[str, Any]


@dataclass(frozen=True)
class Shape:
    """How many zones, nodes in each, and replicas on each; named as the memory platform names them."""

    zone_count: int = 3
    node_count: int = 2
    replica_count: int = 2

    @property
    def zones(self) -> list[str]:
        return [f"zone-{letter}" for letter in "abc"[: self.zone_count]]

    @property
    def nodes(self) -> list[str]:
        return [f"node-{zone[-1]}{number + 1}" for zone in self.zones for number in range(self.node_count)]

    @property
    def nodes_by_zone(self) -> dict[str, tuple[str, ...]]:
        return {zone: tuple(node for node in self.nodes if node[5] == zone[-1]) for zone in self.zones}

    @property
    def replicas(self) -> list[str]:
        names = [node.removeprefix("node-") for node in self.nodes]
        return [f"replica-{name}-{index}" for name in names for index in range(self.replica_count)]

    @property
    def targets(self) -> list[str]:
        service = Target("chat", "local")
        return [str(service), *(f"{service}/{zone}" for zone in self.zones)]

    def service(self) -> Service:
        spec = {
            "model": "m",
            "zones": [{"name": zone} for zone in self.zones],
            "tiers": [{"name": "interactive"}, {"name": "batch", "mayShed": True}],
        }
        return Service.model_validate({"kind": "Service", "metadata": {"name": "chat"}, "spec": spec})


SHAPES = st.builds(Shape, st.sampled_from([3, 3, 2]), st.integers(1, 2), st.integers(1, 2))
LIMITS: SearchStrategy[Doing] = st.sampled_from(
    [{"maxZones": 1}, {"maxZones": 1, "minHealthy": "50%"}, {"maxZones": 2}]
)


def policies() -> SearchStrategy[Policy]:
    def build(limits: Doing) -> Policy:
        spec = {"limits": limits, "storm": {"maxUnhealthy": 1.0, "allZonesBad": False}}
        return Policy.model_validate({"kind": "Policy", "metadata": {"name": "policy"}, "spec": spec})

    return LIMITS.map(build)


def _uses(action: str, **parameters: SearchStrategy[Any]) -> SearchStrategy[Doing]:
    return st.fixed_dictionaries({"uses": st.just(action), "with": st.fixed_dictionaries(parameters)})


def _single(shape: Shape) -> SearchStrategy[Doing]:
    """One action on one part of the fleet, or one that only takes time, fails, or asks people."""
    zone = st.sampled_from(shape.zones)
    replica, node = st.sampled_from(shape.replicas), st.sampled_from(shape.nodes)
    down = st.sampled_from([0, 0, 0, 40, 100])
    return st.one_of(
        _uses("traffic.shift", zone=zone, weight=down, over=st.sampled_from(["0s", "2s"])),
        _uses("traffic.shift", zone=zone, weight=st.just(0)),
        _uses("traffic.restore", zone=zone, stages=st.just([50, 100]), hold=st.just("2s")),
        _uses("replica.restart", replica=replica),
        _uses("replica.isolate", replica=replica),
        _uses("workload.restart", zones=st.lists(zone, min_size=1, max_size=1), drainWithin=st.just("2s")),
        _uses("node.cordon", node=node),
        _uses("limits.set", zone=zone, requestsPerSecond=st.sampled_from([5, None])),
        _uses("load.shed", tiers=st.just(["batch"])),
        _uses("wait"),
        _uses("flaky"),
        _uses("fail"),
        _uses("approval.request", text=st.just("go on?"), timeout=st.just("30s")),
    )


def _loop(shape: Shape) -> SearchStrategy[Doing]:
    """One action for each of a few parts."""

    def over(action: str, key: str, names: Sequence[str], **more: Any) -> SearchStrategy[Doing]:
        items = st.lists(st.sampled_from([*names, "nobody"]), min_size=1, max_size=3, unique=True)
        each = st.fixed_dictionaries(
            {
                "items": items,
                "as": st.just("it"),
                "concurrency": st.integers(1, 2),
                "onItemFailure": st.sampled_from(["stop", "continue"]),
            }
        )
        doing = {"uses": action, "with": {key: "{{ it }}", **more}}
        return each.map(lambda for_each: {**doing, "forEach": for_each})

    return st.one_of(
        over("traffic.shift", "zone", shape.zones, weight=0),
        over("replica.isolate", "replica", shape.replicas),
        over("replica.restart", "replica", shape.replicas),
    )


TRAITS: SearchStrategy[Doing] = st.fixed_dictionaries(
    {},
    optional={
        "timeout": st.sampled_from(["6s", "1m"]),
        "retry": st.just({"limit": 1, "backoff": {"duration": "1s", "jitter": 0}}),
        "undo": st.just(value=False),
        "continueOnError": st.booleans(),
        "if": st.sampled_from(["1 < 2", "1 > 2"]),
    },
)
LIGHTLY: SearchStrategy[Doing] = st.one_of(st.just({}), st.just({}), TRAITS)
"""Mostly as it comes: what has every trait at once rarely gets far."""


@st.composite
def _steps(draw: DrawFn, shape: Shape) -> list[Doing]:
    count = draw(st.integers(1, 4))
    made: list[Doing] = []
    for number in range(count):
        doing = draw(st.one_of(_single(shape), _single(shape), _loop(shape)))
        step = {"id": f"s{number}", **doing, **draw(LIGHTLY)}
        before = [each["id"] for each in made]
        branches = draw(st.booleans())
        if before and branches:
            step["needs"] = draw(st.lists(st.sampled_from(before), unique=True))
        made.append(step)
    return made


SPECS: SearchStrategy[Doing] = st.fixed_dictionaries(
    {"onFailure": st.fixed_dictionaries({"undo": st.sampled_from([True, True, False])})},
    optional={
        "concurrency": st.fixed_dictionaries(
            {
                "group": st.sampled_from(["g", "service/{{ service.name }}"]),
                "onConflict": st.sampled_from(["queue", "skip", "replace"]),
            }
        ),
        "throttle": st.fixed_dictionaries(
            {"onceWithin": st.just("40s"), "groupBy": st.sampled_from([["service"], ["zone"]])}
        ),
        "limits": LIMITS,
        "approval": st.fixed_dictionaries(
            {"timeout": st.just("1m"), "onTimeout": st.sampled_from(["deny", "allow"])}
        ),
        "verify": st.just([{"signal": "trigger", "within": "10s", "for": "2s"}]),
    },
)


@st.composite
def playbooks(draw: DrawFn, shape: Shape, names: Sequence[str] = ("one", "two", "three")) -> list[Playbook]:
    """Return a few playbooks; the ladder of each may lead to those after it, and to people."""
    made: list[Playbook] = []
    for number, name in enumerate(names):
        spec = {**draw(SPECS), "steps": draw(_steps(shape))}
        rungs: list[Doing] = [{"playbook": later} for later in names[number + 1 :][:1]]
        ladder = draw(st.sampled_from([[], [{"notify": "oncall"}], [*rungs, {"notify": "oncall"}]]))
        spec["onFailure"] = {**spec["onFailure"], "escalate": ladder}
        if number == 0:
            spec["triggers"] = [{"type": "slo", "slo": "chat-success", "tiers": ["fast"], "by": "zone"}]
        document = {"kind": "Playbook", "metadata": {"name": name}, "spec": spec}
        made.append(Playbook.model_validate(document))
    return made
