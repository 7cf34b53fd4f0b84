"""Platforms for conformance: each implementation behind the same handles on what lies beneath it.

A `Fleet` breaks and mends the world under a platform, and waits in the time that it lives in.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from controlplane.kernel.clock import VirtualClock
from controlplane.model.target import Target
from controlplane.model.topology import WriteTag
from controlplane.platforms.lab import LabPlatform
from controlplane.platforms.memory import MemoryPlatform
from controlplane.platforms.port import RESTART, Platform
from tests.support.lab_gateway import SmallLab


class Fleet(ABC):
    """A platform of service ``chat`` with three zones of two nodes of two replicas, and room for a third."""

    platform: Platform
    runs = 0

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Let go of what the platform holds."""

    def tag(self, fence: int = 1, run: str | None = None, key: str | None = None) -> WriteTag:
        """Return the tag of a run that no other test has used, or of ``run``."""
        Fleet.runs += 1
        run = run or f"run-{Fleet.runs}"
        return WriteTag(run=run, step="s", attempt=1, fence=fence, key=key or f"{run}/{Fleet.runs}")

    @abstractmethod
    def wait(self, condition: Callable[[], bool]) -> None:
        """Let time pass until ``condition`` holds; fail after 15 s."""

    @abstractmethod
    def cut(self, node: str) -> None: ...

    @abstractmethod
    def mend(self, node: str) -> None: ...

    @abstractmethod
    def occupy(self, replica: str, requests: int) -> None:
        """Let that many requests be inside a replica."""

    @abstractmethod
    def weights_unavailable(self) -> AbstractContextManager[None]:
        """Context in which the next writes to the gateway cannot be made."""

    @abstractmethod
    def restart_answer_lost(self, node: str) -> AbstractContextManager[None]:
        """Context in which a restart happens and its answer is lost."""


class MemoryFleet(Fleet):
    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.memory = MemoryPlatform(self.clock, standby_per_node=1)
        self.platform = self.memory

    def wait(self, condition: Callable[[], bool]) -> None:
        for _ in range(150):
            if condition():
                return
            self.clock.advance(0.1)
        raise AssertionError("it did not come about within 15 s")

    def cut(self, node: str) -> None:
        self.memory.set_reachable(node, False)

    def mend(self, node: str) -> None:
        self.memory.set_reachable(node, True)

    def occupy(self, replica: str, requests: int) -> None:
        self.memory.set_requests(replica, requests)

    @contextmanager
    def weights_unavailable(self) -> Iterator[None]:
        self.memory.fail_next("weights", "before")
        self.memory.fail_next("rotation", "before")
        self.memory.fail_next("limit", "before")
        self.memory.fail_next("shed", "before")
        yield

    @contextmanager
    def restart_answer_lost(self, node: str) -> Iterator[None]:
        self.memory.fail_next(RESTART, "after")
        yield


class LabFleet(Fleet):
    def __init__(self, lab: SmallLab) -> None:
        self.lab = lab
        self.client = LabPlatform(lab.url)
        self.platform = self.client
        self.platform.set_weights(
            "chat", dict.fromkeys(("zone-a", "zone-b", "zone-c"), 100), expected_version=None, by=None
        )
        for zone in ("zone-a", "zone-b", "zone-c"):
            target = Target("chat", "local", zone)
            self.platform.set_scale(target, 4, expected_version=None, by=None)
        self.wait(lambda: len(self.platform.topology("chat").replicas()) == 12)
        topology = self.platform.topology("chat")
        self.platform.set_shed("chat", [], expected_version=None, by=None)
        for zone in self.platform.admission("chat").limits:
            self.platform.set_limit(Target("chat", "local", zone), None, expected_version=None, by=None)
        for target, view in topology.replicas():
            if not view.in_rotation:
                self.platform.set_rotation(target, True, expected_version=None, by=None)
        nodes = (target for target in topology.targets() if target.level == "node")
        for target in nodes:
            self.platform.set_schedulable(target, True, expected_version=None, by=None)

    def close(self) -> None:
        self.client.close()

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.1)
        raise AssertionError("it did not come about within 15 s")

    def cut(self, node: str) -> None:
        self.lab.cut(node)

    def mend(self, node: str) -> None:
        self.lab.mend(node)

    def occupy(self, replica: str, requests: int) -> None:
        for node in self.lab.nodes.values():
            if replica in node.requests:
                node.requests[replica] = requests

    @contextmanager
    def weights_unavailable(self) -> Iterator[None]:
        with self.lab.frozen_envoy():
            yield

    @contextmanager
    def restart_answer_lost(self, node: str) -> Iterator[None]:
        self.lab.nodes[node].lose_answers = True
        try:
            yield
        finally:
            self.lab.nodes[node].lose_answers = False
