"""The runs that the crash matrix disturbs: graphs, loops, retries, a ladder, and what is shipped."""

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from controlplane.act.start import StartRequest, start_run
from controlplane.model.documents import load_bundle
from controlplane.model.outcome import Failed, FailureKind
from controlplane.model.playbook import Playbook
from controlplane.model.records import Incident, Run
from controlplane.model.service import Service
from controlplane.model.signals import SignalsSnapshot, SignalState
from controlplane.model.states import IncidentState
from controlplane.model.target import Signal, Target
from controlplane.platforms.port import WEIGHTS
from tests.support.matrix import Story
from tests.support.rig import Rig
from tests.support.scripted import Scripted
from tests.support.steps import SERVICE, Signals

SINCE = datetime(2026, 1, 1, tzinfo=UTC)
SHIPPED = Path(__file__).parents[2] / "playbooks"

LOOK = {"id": "look", "uses": "look", "with": {"value": 7}}
SHIFT = {"id": "shift", "uses": "traffic.shift", "with": {"zone": "zone-a", "weight": 0, "over": "2s"}}
RESTART = {"id": "restart", "uses": "replica.restart", "with": {"replica": "replica-b1-0"}}
GIVE_UP = {"id": "give-up", "uses": "give-up"}
"""A step without effects, a ramp of three effects, one that is not idempotent, and one that fails."""

EACH = {"id": "each", "uses": "replica.restart", "with": {"replica": "{{ replica }}"}}
REPLICAS = ["replica-a1-0", "replica-b1-0", "replica-c1-0"]


def _plain(folder: Path, **fleet: int) -> Rig:
    no_use = Failed(FailureKind.PERMANENT, "it is no use")
    return Rig(folder, Scripted("look"), Scripted("give-up", lambda *_: no_use), fleet=fleet)


def _steps(*steps: dict[str, Any], **more: Any) -> Callable[[Rig], Run]:
    return lambda rig: rig.start(*steps, **more)


def _each(items: list[str], **for_each: Any) -> dict[str, Any]:
    return {**EACH, "forEach": {"items": items, "as": "replica", **for_each}}


def _branches(*last: dict[str, Any]) -> list[dict[str, Any]]:
    """Two branches after a look; what is given needs both."""
    needs = {"needs": ["look"]}
    both = {"needs": ["shift", "restart"]}
    return [LOOK, {**SHIFT, **needs}, {**RESTART, **needs}, *({**step, **both} for step in last)]


def _with_trouble(rig: Rig) -> Run:
    """A platform that does not answer once, and once does what it does not say."""
    rig.platform.fail_next(WEIGHTS, "before")
    rig.platform.fail_next(WEIGHTS, "after")
    retry = {"limit": 10, "backoff": {"duration": "1s", "jitter": 0}}
    return rig.start(LOOK, {**SHIFT, "retry": retry}, RESTART)


def _ladder(folder: Path) -> Rig:
    rig = _plain(folder)
    spec = {"steps": [RESTART, GIVE_UP], "onFailure": {"escalate": [{"notify": "team"}]}}
    shed = {"kind": "Playbook", "metadata": {"name": "shed"}, "spec": spec}
    with rig.database.transaction() as tx:
        tx.documents.put(Playbook.model_validate(shed))
    return rig


LADDER = {"onFailure": {"undo": True, "escalate": [{"playbook": "shed"}, {"notify": "oncall"}]}}

OWN = [
    Story("three steps", _plain, _steps(LOOK, SHIFT, RESTART)),
    Story("a failure", _plain, _steps(LOOK, SHIFT, GIVE_UP)),
    Story("a graph", _plain, _steps(*_branches(LOOK | {"id": "last"})), ordered=False),
    Story("a graph that fails", _plain, _steps(*_branches(GIVE_UP)), ordered=False),
    Story("a loop", _plain, _steps(LOOK, _each(REPLICAS, concurrency=2)), ordered=False),
    Story(
        "a loop that fails",
        _plain,
        _steps(SHIFT, _each([*REPLICAS[:1], "nobody", *REPLICAS[1:]], onItemFailure="continue")),
        ordered=False,
    ),
    Story("trouble and retries", _plain, _with_trouble),
    Story("a ladder", _ladder, _steps(SHIFT, GIVE_UP, **LADDER)),
]


class EverythingIsWell(Signals):
    """Signals that say of every signal and canary of a shipped playbook's target that it is good now."""

    names: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def latest(self, service: str) -> SignalsSnapshot | None:
        found = super().latest(service)
        assert found is not None
        good = SignalState(
            good=True, value=1.0, objective=0.95, since=found.at, until=found.at, clients_good=True
        )
        canary = next(iter(found.canaries.values()))
        return found.model_copy(
            update={
                "signals": dict.fromkeys(self.names, good),
                "canaries": dict.fromkeys(self.targets, canary),
            }
        )


def _incident(playbook: Playbook) -> Incident:
    """An incident such as the playbook answers, on the first target of the level it asks for."""
    trigger = playbook.spec.triggers[0].model_dump(by_alias=False)
    places = {
        "service": Target("chat", "local"),
        "zone": Target.parse("chat/local/zone-a"),
        "node": Target.parse("chat/local/zone-a/node-a1"),
        "replica": Target.parse("chat/local/zone-a/node-a1/replica-a1-0"),
        "gpu": Target.parse("chat/local/zone-a/node-a1/replica-a1-0"),
    }
    level = {"node": "node", "gpu": "gpu", "budget": "service"}.get(trigger["type"], "zone")
    target = places[trigger.get("by") or level]
    kind = "slo" if trigger["type"] in {"slo", "incident"} else trigger["type"]
    signal = Signal(kind, "xid-31" if kind == "gpu" else "chat-success", target)
    return Incident(
        id="inc-1",
        signal=str(signal),
        service="chat",
        target=str(target),
        state=IncidentState.FIRING,
        tier="restart-engine" if kind == "gpu" else "",
        title="it is broken",
        opened_at=SINCE,
        changed_at=SINCE,
    )


SMALL = {"zones": 2, "nodes_per_zone": 1, "replicas_per_node": 2}
"""A fleet of four replicas, for what goes through all of them."""

STANDBY = {"nodes_per_zone": 1, "replicas_per_node": 2, "standby_per_node": 1}
"""A fleet with room for a replica more in each zone."""


def _shipped(playbook: Playbook, folder: Path) -> Rig:
    used = {step.uses for step in playbook.spec.steps}
    fleet = SMALL if "workload.restart" in used else STANDBY if "workload.scale" in used else {}
    rig = _plain(folder, **fleet)
    incident = _incident(playbook)
    rig.metrics.values = [0.1]
    rig.signals = EverythingIsWell(rig.clock)
    rig.signals.names = (incident.signal,)
    rig.signals.targets = tuple(str(target) for target in rig.platform.topology("chat").targets())
    rig.executor = rig.new_executor()
    with rig.database.transaction() as tx:
        rig.pins["Playbook"] = tx.documents.put(playbook)
        rig.pins["Service"] = tx.documents.put(_service())
    return rig


def _service() -> Service:
    """A service with all that playbooks read of one."""
    spec = SERVICE.spec.model_copy(update={"prompts": ("one", "two")})
    return SERVICE.model_copy(update={"spec": spec})


def _begin_shipped(playbook: Playbook, rig: Rig) -> Run:
    if any(step.uses == "traffic.restore" for step in playbook.spec.steps):
        rig.platform.set_weights("chat", {"zone-a": 0}, expected_version=None, by=None)
    if any(step.uses == "replica.restore" for step in playbook.spec.steps):
        replica = Target.parse(_incident(playbook).target)
        rig.platform.set_rotation(replica, False, expected_version=None, by=None)
    if any(step.with_.get("tiers") == [] for step in playbook.spec.steps):
        rig.platform.set_shed("chat", ["batch"], expected_version=None, by=None)
    if any(step.with_.get("to") == "usual" for step in playbook.spec.steps):
        for zone in rig.platform.weights("chat").weights:
            rig.platform.set_scale(Target("chat", "local", zone), 3, expected_version=None, by=None)
        rig.clock.advance(10.0)
    if any(step.uses == "node.restore" for step in playbook.spec.steps):
        rig.platform.set_reachable("node-a1", False)  # the longest way: it does not come back by itself
    request = StartRequest.of_playbook(playbook, SERVICE, rig.pins, incident=_incident(playbook))
    with rig.database.transaction() as tx:
        return start_run(tx, request, rig.woken.append)


def shipped() -> list[Story]:
    """Return a story for each playbook that is shipped."""
    files = [file for file in sorted(SHIPPED.glob("*.yaml")) if not file.name.endswith(".test.yaml")]
    found = load_bundle([(file.name, file.read_text()) for file in files]).raise_problems()
    playbooks = [each for each in found.of("Playbook").values() if isinstance(each, Playbook)]
    return [
        Story(each.name, partial(_shipped, each), partial(_begin_shipped, each), ordered=_is_a_line(each))
        for each in playbooks
    ]


def _is_a_line(playbook: Playbook) -> bool:
    return all(step.needs is None and step.for_each is None for step in playbook.spec.steps)
