"""Planning and starting by hand: real targets and values, the loop's guards, and no write on the way."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from controlplane.act.byhand import Ask, Hand
from controlplane.bootstrap.documents import action_registry
from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import InvalidInput, NotFound, Refused
from controlplane.model.action import Dimension, SignalReader
from controlplane.model.playbook import Playbook
from controlplane.model.policy import Policy
from controlplane.model.ports import Metrics, Notifier
from controlplane.model.records import Halt
from controlplane.platforms.memory import MemoryPlatform
from controlplane.platforms.port import Platform
from controlplane.store.memory import MemoryDatabase
from tests.support.steps import SERVICE, Numbers, Outbox, Signals
from tests.unit.controlplane.actions.test_registry import EXAMPLES

ZONE = "chat/local/zone-a"
READS = {
    name
    for name, method in inspect.getmembers(Platform, inspect.isfunction)
    if not name.startswith("_") and "by" not in inspect.signature(method).parameters
}
"""The port's calls that carry no writer."""


class Recorder:
    """A platform that lets itself be read, and fails whoever tries anything else."""

    def __init__(self, platform: MemoryPlatform) -> None:
        self.platform = platform
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.calls.append(name)
        assert name in READS, f"a plan called {name}"
        return getattr(self.platform, name)


class World:
    """A hand, and the outside that it is given."""

    def __init__(self, database: MemoryDatabase) -> None:
        self.clock = VirtualClock()
        database.clear(self.clock)
        self.database = database
        self.platform = MemoryPlatform(self.clock)
        self.recorder = Recorder(self.platform)
        self.signals = Signals(self.clock)
        self.outbox = Outbox()
        ports: dict[type, object] = {
            Platform: self.recorder,
            SignalReader: self.signals,
            Metrics: Numbers([1.0]),
            Notifier: self.outbox,
        }
        self.hand = Hand(database, action_registry(), ports, self.clock)
        with database.transaction() as tx:
            tx.documents.put(SERVICE)

    def playbook(self, *steps: dict[str, Any], **spec: Any) -> None:
        document = {"kind": "Playbook", "metadata": {"name": "p"}, "spec": {"steps": list(steps), **spec}}
        with self.database.transaction() as tx:
            tx.documents.put(Playbook.model_validate(document))

    def ask(self, target: str = ZONE, **inputs: Any) -> Ask:
        return Ask("p", target, "ada", inputs)

    def rows(self) -> dict[str, int]:
        """Count every row of the database, by table."""
        with self.database.reading() as tx:
            names = tx.connection.exec_driver_sql("select name from sqlite_master where type = 'table'")
            return {
                name: tx.connection.exec_driver_sql(f'select count(*) from "{name}"').scalar_one()
                for (name,) in names.all()
            }


@pytest.fixture(scope="module")
def database() -> Iterator[MemoryDatabase]:
    made = MemoryDatabase(VirtualClock())
    yield made
    made.close()


@pytest.fixture
def world(database: MemoryDatabase) -> World:
    return World(database)


TELL = {"id": "tell", "uses": "notify.send", "with": {"channel": "c", "title": "t"}}
SHIFT = {"id": "shift", "uses": "traffic.shift", "with": {"zone": "{{ incident.zone }}", "weight": 0}}


def test_a_plan_shows_real_targets_and_present_and_future_values(world: World) -> None:
    world.platform.set_weights("chat", {"zone-a": 70}, expected_version=None, by=None)
    world.playbook(SHIFT, when="incident.zone in service.zones")
    plan = world.hand.plan(world.ask())
    (step,) = plan.steps
    assert (step.outlook, step.parameters, step.undo) == ("runs", {"zone": "zone-a", "weight": 0}, True)
    assert [(each.target, each.field, each.before, each.after) for each in step.changes] == [
        (ZONE, "weight", 70, 0)
    ]
    assert [(each.target, each.dimension, each.returns) for each in step.touches] == [
        (ZONE, Dimension.TRAFFIC, False)
    ]
    assert (plan.verdict, plan.matches) == ("run", True)
    numbers = (plan.capacity.replicas, plan.capacity.healthy_before, plan.capacity.healthy_after)
    assert (*numbers, plan.capacity.zones_out_after) == (12, 12, 8, 1)


def test_a_plan_says_what_depends_on_an_earlier_step(world: World) -> None:
    world.playbook(
        {"id": "look", "uses": "query.wait", "with": {"query": "up", "condition": "result > 0"}},
        {**SHIFT, "if": "steps.look.outputs.result < 5"},
        {
            "id": "tell",
            "uses": "notify.send",
            "with": {"channel": "c", "title": "{{ steps.shift.outputs.weight }}"},
        },
        {"id": "never", "uses": "notify.send", "if": "1 > 2", "with": {"channel": "c", "title": "t"}},
        {"id": "wrong", "uses": "traffic.shift", "with": {"zone": "zone-x", "weight": 0}},
    )
    steps = {step.id: step for step in world.hand.plan(world.ask()).steps}
    assert {name: step.outlook for name, step in steps.items()} == {
        "look": "runs",
        "shift": "depends",
        "tell": "depends",
        "never": "skipped",
        "wrong": "broken",
    }
    assert steps["shift"].depends_on == ("step look",)
    assert [each.after for each in steps["shift"].changes] == [0]
    assert steps["tell"].why == "`title` depends on step shift"
    assert steps["tell"].parameters == {"channel": "c"}
    assert "zone-x" in steps["wrong"].why


def test_a_plan_follows_the_graph_and_looks_at_each_item(world: World) -> None:
    items = {"items": "service.zones | reject('equalto', incident.zone) | list", "as": "zone"}
    world.playbook(
        {"id": "last", "uses": "notify.send", "needs": ["each"], "with": {"channel": "c", "title": "t"}},
        {
            "id": "each",
            "uses": "traffic.shift",
            "needs": [],
            "forEach": items,
            "with": {"zone": "{{ zone }}", "weight": 40},
        },
        {**SHIFT, "id": "late", "forEach": {"items": "steps.each.outputs.x"}},
    )
    steps = world.hand.plan(world.ask()).steps
    assert [step.id for step in steps] == ["each", "last", "late"]
    assert [each.target for each in steps[0].changes] == ["chat/local/zone-b", "chat/local/zone-c"]
    assert (steps[2].outlook, steps[2].why) == ("depends", "its items depend on step each")


def test_a_plan_knows_the_limits_that_conditions_ask_for(world: World) -> None:
    world.playbook(
        SHIFT,
        {
            "id": "tell",
            "uses": "notify.send",
            "if": "limits.healthyAfter < 0.7",
            "with": {"channel": "c", "title": "t"},
        },
    )
    assert [step.outlook for step in world.hand.plan(world.ask()).steps] == ["runs", "runs"]


def test_a_plan_shows_what_stands_against_it(world: World) -> None:
    world.playbook(SHIFT, when="incident.zone == 'zone-b'")
    assert world.hand.plan(world.ask()).verdict == "notMatched"
    world.playbook(SHIFT)
    with world.database.transaction() as tx:
        tx.ledger.claim("chat/local/zone-b", Dimension.TRAFFIC, "run-9")
        tx.documents.put(Policy.model_validate({"kind": "Policy", "metadata": {"name": "p"}, "spec": {}}))
    plan = world.hand.plan(world.ask())
    assert (plan.verdict, plan.capacity.zones_out_after) == ("wait", 2)
    assert "2 of 3 zones would be out of service, the limit is 1" in plan.why
    world.signals.silent = True
    assert "controller is lost" in world.hand.plan(world.ask()).why


@pytest.mark.parametrize("name", sorted(action_registry().names()))
def test_no_action_writes_anywhere_in_a_plan(world: World, name: str) -> None:
    """All registered ones, chaos's too: at the platform, to people, and in the database."""
    world.playbook({"id": "one", "uses": name, "with": EXAMPLES.get(name, {})})
    before = world.rows()
    plan = world.hand.plan(world.ask())
    assert world.rows() == before
    assert set(world.recorder.calls) <= READS
    assert world.platform.writes() == []
    assert world.outbox.sent == []
    if name in EXAMPLES:
        assert plan.steps[0].outlook == "runs", plan.steps[0].why


def test_a_plan_that_would_write_is_stopped_at_the_port(world: World) -> None:
    assert {"topology", "weights"} <= READS
    assert not {"set_weights", "restart_replica"} & READS
    with pytest.raises(AssertionError, match="a plan called set_weights"):
        world.recorder.set_weights("chat", {"zone-a": 0}, expected_version=None, by=None)


def test_a_start_writes_the_run_and_the_decision(world: World) -> None:
    world.playbook(SHIFT, inputs={"ramp": {"type": "duration", "default": "1s"}})
    run = world.hand.start(world.ask(ramp="3s"))
    assert (run.trigger, run.started_by, run.inputs, run.target) == ("manual", "ada", {"ramp": "3s"}, ZONE)
    assert run.scope["limits"]["healthyAfter"] == pytest.approx(8 / 12, abs=1e-3)
    with world.database.reading() as tx:
        (decision,) = tx.decisions.list()
    assert (decision.outcome, decision.run, decision.trigger) == ("run", run.id, "manual")
    assert {each.guard for each in decision.guards} >= {"halt", "mode", "storm", "blastRadius"}


def test_a_start_is_refused_with_the_guards_words_and_recorded(world: World) -> None:
    world.playbook(SHIFT, mode="observe")
    with world.database.transaction() as tx:
        tx.halts.add(Halt(id="halt-1", reason="works", by="bob", created_at=tx.now))
    with pytest.raises(Refused, match=r"halt: halted by bob: works"):
        world.hand.start(world.ask())
    with world.database.reading() as tx:
        assert tx.runs.list() == []
        assert [each.outcome for each in tx.decisions.list()] == ["refused"]
        tx.connection.exec_driver_sql("select 1")


def test_the_mode_binds_automation_and_not_people(world: World) -> None:
    world.playbook(SHIFT, mode="observe")
    plan = world.hand.plan(world.ask())
    verdict = next(each for each in plan.guards if each.guard == "mode")
    assert (plan.verdict, verdict.message) == ("run", "started by ada: mode observe binds automation")


def test_what_is_not_there_is_said_with_the_nearest(world: World) -> None:
    world.playbook(SHIFT)
    with pytest.raises(NotFound, match="no playbook `q` is loaded"):
        world.hand.plan(Ask("q", ZONE, "ada"))
    with pytest.raises(NotFound, match=r"no service `chta` is loaded .did you mean `chat`"):
        world.hand.plan(world.ask("chta/local/zone-a"))
    with pytest.raises(NotFound, match="did you mean `chat/local/zone-a`"):
        world.hand.plan(world.ask("chat/local/zone-aa"))
    with pytest.raises(InvalidInput, match="unknown input `ramp`"):
        world.hand.plan(world.ask(ramp="1s"))


def test_inputs_are_read_as_what_they_are_declared(world: World) -> None:
    inputs = {"n": {"type": "number"}, "b": {"type": "boolean"}, "t": {"type": "string"}}
    world.playbook(SHIFT, inputs=inputs)
    read = world.hand.read_inputs("p", {"n": "-3", "b": "true", "t": "1.10", "x": "1"})
    assert read == {"n": -3, "b": True, "t": "1.10", "x": "1"}
    assert world.hand.read_inputs("p", {"n": "0.5", "b": "yes"}) == {"n": 0.5, "b": "yes"}
