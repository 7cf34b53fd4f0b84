"""What runs have taken out of service, counted at the platform and at the drills' driver alone.

It looks at each write, in the moment in which it is made: how much is out then, whether its writer
still held the run, and whether an undo has sent users where a canary fails. It reads no journal.
"""

from typing import Any

from controlplane.model.target import Target
from controlplane.model.topology import WriteRecord
from controlplane.platforms.port import RESTART, ROTATION, WEIGHTS
from tests.support.any_effects import DEFAULTS, FIELDS, changes, is_undo
from tests.support.any_world import World


class Outside:
    """What runs and drills have taken out of service, by the platform's own log and the fleet as it is."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._seen = 0
        self.broken = False
        """Whether something was broken that no run broke: then fewer may be healthy than the limits say."""

    def out(self) -> set[Target]:
        """Return the zones without traffic and the parts out of service that a run or a drill made so."""
        found: dict[Target, bool] = {}
        for write in self.world.platform.writes():
            ours = write.by is not None
            if write.op == WEIGHTS:
                for zone, weight in write.after.items():
                    if weight != write.before[zone]:
                        found[Target("chat", "local", zone)] = ours and weight == 0
            elif write.op == ROTATION:
                found[Target.parse(write.target)] = ours and not write.after
        return {target for target, out in found.items() if out} | self._loading() | self.world.drills.lost()

    def _loading(self) -> set[Target]:
        """Return the replicas that load because a run has restarted them."""
        last = {write.target: write for write in self.world.platform.writes() if write.op == RESTART}
        now, fleet = self.world.clock.monotonic(), self.world.platform._fleet
        return {
            Target.parse(target)
            for target, write in last.items()
            if write.by is not None and now < fleet.replica_at(Target.parse(target))[1].loaded_at
        }

    def watch(self) -> None:
        """Look at what was written just now, and at what is out since; called at each write."""
        fresh = self.world.platform.writes(self._seen)
        self._seen += len(fresh)
        for write in fresh:
            self._not_late(write)
            self._not_into_harm(write)
            self._claimed(write)
        self._within_limits()

    def _not_late(self, write: WriteRecord) -> None:
        """Whoever writes holds the run: a later owner has shown the platform its fence first."""
        if write.by is None:
            return
        with self.world.database.reading() as tx:
            fence = tx.runs.get(write.by.run).fence
        if write.by.fence < fence:
            self.world.problems.append(f"{write} came after fence {fence}")

    def _not_into_harm(self, write: WriteRecord) -> None:
        """An undo gives a place more users only while its canary is good."""
        for place, before, after in changes(write) if is_undo(write) else ():
            more = write.op in {WEIGHTS, ROTATION} and after > before
            if more and Target.parse(place).zone in self.world.measured.ill:
                self.world.problems.append(f"{write} sends users where the canary fails")

    def _claimed(self, write: WriteRecord) -> None:
        """What a run takes out of service is in the ledger before."""
        if write.by is None or write.op not in {WEIGHTS, ROTATION, RESTART}:
            return
        with self.world.database.reading() as tx:
            held = [Target.parse(row.target) for row in tx.ledger.list()]
        for place, _, after in changes(write):
            taken = write.op == RESTART or not after
            if taken and not any(one.contains(Target.parse(place)) for one in held):
                self.world.problems.append(f"{place} is taken out and not claimed: {write}")

    def _within_limits(self) -> None:
        """Hold what is out now against the policy's limits."""
        shape, limits = self.world.shape, self.world.policy.spec.limits
        out = self.out()
        replicas = {
            Target("chat", "local", zone, f"node-{node}", f"replica-{node}-{index}")
            for zone in shape.zones
            for node in (f"{zone[-1]}{number + 1}" for number in range(shape.node_count))
            for index in range(shape.replica_count)
        }
        gone = {replica for replica in replicas if any(one.contains(replica) for one in out)}
        zones = [zone for zone in shape.zones if all(each in gone for each in replicas if each.zone == zone)]
        words = ", ".join(sorted(map(str, out)))
        if limits.max_zones is not None and len(zones) > limits.max_zones.of(len(shape.zones)):
            self.world.problems.append(f"{len(zones)} zones are out at the platform: {words}")
        left = len(replicas) - len(gone)
        if limits.min_healthy is not None and not self.broken and left < limits.min_healthy.of(len(replicas)):
            self.world.problems.append(f"{left} of {len(replicas)} replicas are left: {words}")

    def values(self, target: str, field: str, after: int) -> list[tuple[Any, WriteRecord | None]]:
        """Return what stood in a field since the write ``after``, each with the write that made it so."""
        found: list[tuple[Any, WriteRecord | None]] = [(DEFAULTS[field], None)]
        zone = Target.parse(target).zone
        for write in self.world.platform.writes():
            if write.op != FIELDS[field] or (write.op != WEIGHTS and write.target != target):
                continue
            value, before = write.after, write.before
            if write.op == WEIGHTS:
                value, before = write.after[zone], write.before[zone]
            if value != before:
                found = [*(found if write.seq > after else ()), (value, write)]
        return found
