"""What a step can do: the built-in actions, one module each; the class's docstring is its documentation."""

from __future__ import annotations

from controlplane.actions.capacity_check import CapacityCheck
from controlplane.actions.notify_send import NotifySend
from controlplane.actions.query_wait import QueryWait
from controlplane.actions.replica_restart import ReplicaRestart
from controlplane.actions.traffic_restore import TrafficRestore
from controlplane.actions.traffic_shift import TrafficShift
from controlplane.model.action import ActionRegistry

BUILTIN = (CapacityCheck, NotifySend, QueryWait, ReplicaRestart, TrafficRestore, TrafficShift)


def register(registry: ActionRegistry) -> None:
    """Add the built-in actions: the entry point ``builtin`` of the group ``fleetward.actions``."""
    for action in BUILTIN:
        registry.add(action.name, action())
