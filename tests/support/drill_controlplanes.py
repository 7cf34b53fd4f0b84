"""What a simulated control plane does about a drill's fault: nothing, or one thing after a while.

Each is a function that looks and acts once per step of a `tests.support.drill_world.World`.
"""

from __future__ import annotations

from controlplane.model.target import Target
from tests.support.drill_world import Controlplane, World


def firing(playbook: str, act: Controlplane) -> Controlplane:
    """The same control plane, whose playbook has run as soon as a fault takes effect."""
    fired: list[str] = []

    def with_a_run(world: World) -> None:
        if not fired and any(one.verified_at is not None for one in world.faults(standing=True)):
            fired.append(world.fire(playbook))
        act(world)

    return with_a_run


def bringing_back(act: Controlplane, *playbooks: str, after: float) -> Controlplane:
    """The same control plane, whose playbooks have run ``after`` seconds from when the faults were over."""
    left = list(playbooks)
    seen: dict[str, float] = {}

    def with_runs(world: World) -> None:
        act(world)
        standing = [one for one in world.faults(standing=True) if one.verified_at is not None]
        if standing:
            seen["since"] = world.now
        elif seen and left and world.now - seen["since"] >= after:
            world.fire(left.pop(0))

    return with_runs


def nobody(world: World) -> None:
    """A control plane that only watches."""


def failover(after: float = 8.0, healthy_for: float = 20.0, zone: str = "zone-b") -> Controlplane:
    """A control plane that leaves a faulty zone ``after`` seconds, and comes back in stages."""
    seen: dict[str, float] = {}

    def act(world: World) -> None:
        standing = [one for one in world.faults(standing=True) if one.verified_at is not None]
        if standing:
            seen.setdefault("since", world.now)
            seen.pop("well", None)
            if world.now - seen["since"] >= after:
                world.write_weight(zone, 0)
        elif "since" in seen:
            well = world.now - seen.setdefault("well", world.now) - healthy_for
            stages = [(5, 0.0), (25, 10.0), (100, 20.0)]
            reached = [weight for weight, at in stages if well >= at]
            if reached:
                world.write_weight(zone, reached[-1])

    return act


def isolate(after: float = 10.0) -> Controlplane:
    """A control plane that takes a faulty replica out of rotation ``after`` seconds."""

    def act(world: World) -> None:
        for one in world.faults(standing=True):
            if one.verified_at is not None and world.now - one.verified_at.timestamp() >= after:
                world.isolated.add(Target.parse(one.targets[0]).name)

    return act


def restart(after: float = 5.0) -> Controlplane:
    """A control plane that restarts the hung engine ``after`` seconds."""
    seen: dict[str, float] = {}

    def act(world: World) -> None:
        for one in world.faults(standing=True):
            if one.verified_at is not None and world.now - one.verified_at.timestamp() >= after and not seen:
                target = Target.parse(one.targets[0])
                seen["at"] = world.now
                world.break_off(target)
                world.driver.restart(target)

    return act


def shed(after: float = 12.0, calm: float = 20.0) -> Controlplane:
    """A control plane that refuses batch ``after`` seconds of a surge, until it has been calm for a while."""
    seen: dict[str, float] = {}

    def act(world: World) -> None:
        if any(one.verified_at is not None for one in world.faults(standing=True)):
            seen.pop("calm", None)
            if world.now - seen.setdefault("since", world.now) >= after:
                world.shed = {"batch"}
        elif "since" in seen and world.now - seen.setdefault("calm", world.now) >= calm:
            world.shed = set()

    return act


def replace_node(after: float = 15.0) -> Controlplane:
    """A control plane that puts another machine behind a killed node's name ``after`` seconds."""

    def act(world: World) -> None:
        for one in world.faults(standing=True):
            if one.verified_at is not None and world.now - one.verified_at.timestamp() >= after:
                for target in one.targets:
                    world.driver.respawn(str(Target.parse(target).node))

    return act
