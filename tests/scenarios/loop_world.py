"""The whole loop on a virtual clock: scripted metrics and canaries, the fleet in memory, a real database.

Each step of two seconds lets the engines work, scrapes them, asks them, ticks the controller and
lets a worker do what is due. Faults are set on targets: ``slow``, ``hung``, ``dead``; ``crowd``: how much
of the usual load comes beside it, of tier batch. What is read are Prometheus rows by their real names.
``restarts`` counts the starts of a container after its first.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, cast

from controlplane.act.executor import Executor
from controlplane.act.sweep import sweep
from controlplane.actions import register
from controlplane.controller.loop import Controller, Parts
from controlplane.kernel.clock import Clock, VirtualClock
from controlplane.kernel.registry import Registry
from controlplane.model.action import ActionRegistry, SignalReader
from controlplane.model.documents import load_bundle
from controlplane.model.ports import Freezes, Halts, Metrics, Notifier
from controlplane.model.records import Decision, Incident, Run
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.observe.probes import Answer, ProbeBook
from controlplane.platforms.memory import MemoryPlatform
from controlplane.platforms.port import Platform
from controlplane.store.database import Database
from controlplane.store.freeze_port import StoreFreezes
from controlplane.store.halt_port import StoreHalts
from controlplane.store.runs import RunQuery
from controlplane.store.signals import StoreSignals
from tests.scenarios.loop_sight import Metricsource, ScriptedProber, SeenPlatform
from tests.support.chat_documents import SERVICE, hung_replica, joined, policy, slo, zone_failover
from tests.support.rig import fresh_database
from tests.support.steps import Numbers, Outbox

TICK = 2.0
SPARE = 0.8  # how much of its usual load the fleet, without its standby, could serve beside it
ITL = "vllm:inter_token_latency_seconds_bucket"
TTFT = "vllm:time_to_first_token_seconds_bucket"
BOUNDS = {ITL: (0.01, 0.025, 0.05, 0.075, 0.1), TTFT: (0.1, 0.5, 1.0, 2.5)}

_ZONE_FAILBACK = """
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: zone-failback}
spec:
  triggers:
    - {type: incident, state: mitigated, targetHealthyFor: 15s, by: zone}
  throttle: {onceWithin: 1m, groupBy: [service, zone]}
  concurrency: {group: "service/{{ service.name }}", onConflict: queue}
  steps:
    - {id: restore, uses: traffic.restore, with: {zone: "{{ incident.zone }}", stages: [25, 100], hold: 6s}}
"""
_NODE_NOTICE = """
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: node-notice}
spec:
  triggers:
    - {type: slo, slo: chat-availability, by: node}
  steps:
    - {id: wait, uses: query.wait, with: {query: "vector(1)", condition: result > 5}}
"""

DOCUMENTS = joined(
    SERVICE,
    policy("MODE"),
    slo("itl", "95%", "window: 6s, below: 85%, minSamples: 50", threshold="50ms"),
    slo("availability", "99%", "window: 6s, below: 60%, minSamples: 2", by=("service", "node")),
    zone_failover(["slo: chat-itl", "slo: chat-availability"], "5m", "4s"),
    _ZONE_FAILBACK,
    hung_replica(
        "2m", evacuated=", evacuated: true", rest="  verify:\n    - {signal: trigger, within: 1m, for: 4s}\n"
    ),
    _NODE_NOTICE,
)


class World:
    """Everything of one scenario."""

    def __init__(self, folder: Path, *, mode: str = "auto", documents: str = DOCUMENTS) -> None:
        self.clock = VirtualClock()
        self.database: Database = fresh_database(folder, self.clock)
        self.platform = MemoryPlatform(self.clock, standby_per_node=1, load_time=4.0)
        self.seen = SeenPlatform(self.platform)
        self.source = Metricsource()
        self.actions: ActionRegistry = Registry("action")
        register(self.actions)
        self.woken: list[str] = []
        self.probers: list[ScriptedProber] = []
        self.slow: set[Target] = set()
        self.hung: dict[Target, str] = {}
        self.dead: set[Target] = set()
        self.restarts: dict[Target, int] = {}
        self.canaries = self.work = True
        self.crowd, self.backlog = 0.0, 0.0
        self.numbers = Numbers([1.0])
        self.outbox = Outbox()
        self._counters: dict[Any, float] = defaultdict(float)
        bundle = load_bundle([("world.yaml", documents.replace("MODE", mode))]).raise_problems()
        with self.database.transaction() as tx:
            for entry in bundle.loaded:
                tx.documents.put(entry.model)
        self.controller = self.new_controller("one")
        ports: dict[type, object] = {
            Platform: self.platform,
            SignalReader: StoreSignals(self.database),
            Metrics: self.numbers,
            Notifier: self.outbox,
            Halts: StoreHalts(self.database),
            Freezes: StoreFreezes(self.database),
        }
        self.executor = Executor(
            self.database, self.actions, ports, self.woken.append, self.clock, "worker", keep_leases=False
        )

    def new_controller(self, owner: str) -> Controller:
        parts = Parts(
            database=self.database,
            platform=cast("Platform", self.seen),
            source=self.source,
            actions=self.actions,
            wake=self.woken.append,
            clock=self.clock,
            owner=owner,
            lag=0.0,
            prober=self._new_prober,
        )
        return Controller(parts)

    # ── time ────────────────────────────────────────────────────────────────────────────────────────────────

    def run(self, seconds: float) -> None:
        """Let time pass in ticks."""
        for _ in range(round(seconds / TICK)):
            self.step()

    def step(self) -> None:
        """One tick: work, scrapes, canaries, the controller, then what workers have to do."""
        for _ in range(4):
            self.clock.advance(TICK / 4)
            if self.work:
                self._settle()
        self._engines()
        self._ask()
        self.controller.tick()
        if self.work:
            self._settle()

    def run_until(self, condition: Any, seconds: float) -> float:
        """Step until ``condition()`` holds; returns after how many seconds, fails when it never does."""
        for count in range(1, round(seconds / TICK) + 1):
            self.step()
            if condition():
                return count * TICK
        msg = f"not within {seconds} s: {self.incidents()} {self.runs()}"
        raise AssertionError(msg)

    def _settle(self) -> None:
        for _ in range(100):
            sweep(self.database, self.woken.append)
            if not self.woken:
                return
            woken, self.woken[:] = list(self.woken), []
            for run_id in woken:
                self.executor.advance(run_id)

    # ── what the fleet does ─────────────────────────────────────────────────────────────────────────────────

    def _engines(self) -> None:
        shed = "batch" in self.platform.admission("chat").shed
        ready = sum(view.ready for _, view in self.platform.topology("chat").replicas())
        spare = (1 + SPARE) * ready / 12 - 1
        self.backlog = max(0.0, self.backlog + 10 * ((0.0 if shed else self.crowd) - spare))
        weights = self.platform.weights("chat").weights
        total = sum(weights.values())
        for node, machine in self.platform.topology("chat").nodes():
            ready = machine.ready and not self._is(node, self.dead)
            self.source.put(
                "kube_node_status_condition", float(ready), node=str(node.node), condition="Ready"
            )
        for target, view in self.platform.topology("chat").replicas():
            share = weights[str(target.zone)] / total
            gone = self._is(target, self.dead)
            if self.hung.get(target, view.uid) != view.uid:
                del self.hung[target]
            ready = view.ready and not gone
            names = {"zone": str(target.zone), "node": str(target.node), "replica": str(target.replica)}
            self.source.put("kube_pod_status_ready", float(ready), pod=str(target.replica))
            restarts = float(self.restarts.get(target, 0))
            self.source.put("kube_pod_container_status_restarts_total", restarts, pod=str(target.replica))
            self.source.put("up", float(ready), **names)
            self.source.put("scraped_at", self.clock.now().timestamp() - 0.2, **names)
            self._gateway(str(target.zone), 2.0 * share, failed=not ready)
            if not ready:
                continue
            if target not in self.hung:
                self._work(target, (250 * share if view.in_rotation else 0) + 4)
            self._expose(target, names)

    def _work(self, target: Target, tokens: float) -> None:
        factor = 3 if self._is(target, self.slow) else 1
        count = 2 * tokens / factor
        for name, value in ((ITL, 0.022 * factor), (TTFT, 0.09 * factor + self.backlog / 24)):
            for bound in (*BOUNDS[name], float("inf")):
                self._counters[target, name, bound] += (count if name == ITL else count / 50) * (
                    value <= bound
                )
        for name in ("vllm:generation_tokens_total", "vllm:iteration_tokens_total_count"):
            self._counters[target, name] += count
        self._counters[target, "vllm:request_success_total"] += count / 100

    def _expose(self, target: Target, names: dict[str, str]) -> None:
        self.source.put("vllm:num_requests_running", 3.0, **names)
        self.source.put("vllm:num_requests_waiting", self.backlog / 12, **names)
        for name, bounds in BOUNDS.items():
            for bound in (*bounds, float("inf")):
                text = "+Inf" if bound == float("inf") else str(bound)
                self.source.put(name, self._counters[target, name, bound], **names, le=text)
        for name in ("vllm:generation_tokens_total", "vllm:iteration_tokens_total_count"):
            self.source.put(name, self._counters[target, name], **names)
        finished = self._counters[target, "vllm:request_success_total"]
        self.source.put("vllm:request_success_total", finished, **names, finished_reason="stop")

    def _gateway(self, zone: str, requests: float, *, failed: bool) -> None:
        for code, bad in (("2", False), ("5", True)):
            self._counters["envoy", zone, code] += requests * (failed is bad)
            value = self._counters["envoy", zone, code]
            self.source.put("envoy_cluster_upstream_rq_xx", value, zone=zone, envoy_response_code_class=code)

    def _ask(self) -> None:
        now = self.clock.now().timestamp()
        for prober in self.probers:
            if not prober.running or not self.canaries:
                continue
            for target, view in self.platform.topology("chat").replicas():
                self._ask_one(prober.book, target, now, alive=view.ready and not self._is(target, self.dead))

    def _ask_one(self, book: ProbeBook, target: Target, now: float, *, alive: bool) -> None:
        if alive and target in self.hung:
            book.answered(target, Answer(now - 3.5, now - 1.5, "timeout"))
            book.asked(target, now - 1.5)
            return
        factor = 3 if self._is(target, self.slow) else 1
        ttft, tpot = 0.09 * factor, 0.022 * factor
        kind = book.judge(ttft, tpot, right=True) if alive else "refused"
        book.answered(target, Answer(now - 0.4, now - 0.1, kind, ttft, tpot, 8))

    @staticmethod
    def _is(target: Target, faults: set[Target]) -> bool:
        return any(fault.contains(target) for fault in faults)

    def _new_prober(self, service: Service, clock: Clock) -> ScriptedProber:
        self.probers.append(ScriptedProber(service, clock))
        return self.probers[-1]

    # ── what a test looks at ────────────────────────────────────────────────────────────────────────────────

    def hang(self, target: Target) -> None:
        """Let an engine stop working; a new incarnation works again."""
        uids = {place: view.uid for place, view in self.platform.topology("chat").replicas()}
        self.hung[target] = uids[target]

    def incidents(self, **which: Any) -> list[Incident]:
        with self.database.reading() as tx:
            return sorted(tx.incidents.list(**which), key=lambda each: each.opened_at)

    def runs(self, name: str | None = None) -> list[Run]:
        with self.database.reading() as tx:
            return tx.runs.list(RunQuery(name=name))[::-1]

    def decisions(self, **which: Any) -> list[Decision]:
        with self.database.reading() as tx:
            return tx.decisions.list(**which)[::-1]

    def weights(self) -> dict[str, int]:
        return self.platform.weights("chat").weights
