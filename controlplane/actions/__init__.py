"""What a step can do: the built-in actions, one module each; the class's docstring is its documentation."""

from __future__ import annotations

from controlplane.actions.approval_request import ApprovalRequest
from controlplane.actions.cache_prewarm import CachePrewarm
from controlplane.actions.capacity_check import CapacityCheck
from controlplane.actions.freeze import Freeze
from controlplane.actions.gpu_recycle import GpuRecycle
from controlplane.actions.halt import Halt
from controlplane.actions.http_request import HttpRequest
from controlplane.actions.limits_set import LimitsSet
from controlplane.actions.limits_tune import LimitsTune
from controlplane.actions.load_shed import LoadShed
from controlplane.actions.node_cordon import NodeCordon, NodeUncordon
from controlplane.actions.node_drain import NodeDrain
from controlplane.actions.node_replace import NodeReplace
from controlplane.actions.node_restore import NodeRestore
from controlplane.actions.notify_send import NotifySend
from controlplane.actions.query_wait import QueryWait
from controlplane.actions.replica_drain import ReplicaDrain
from controlplane.actions.replica_isolate import ReplicaIsolate
from controlplane.actions.replica_restart import ReplicaRestart
from controlplane.actions.replica_restore import ReplicaRestore
from controlplane.actions.traffic_restore import TrafficRestore
from controlplane.actions.traffic_shift import TrafficShift
from controlplane.actions.workload_restart import WorkloadRestart
from controlplane.actions.workload_scale import WorkloadScale
from controlplane.model.action import ActionRegistry

BUILTIN = (
    ApprovalRequest,
    CachePrewarm,
    CapacityCheck,
    Freeze,
    GpuRecycle,
    Halt,
    HttpRequest,
    LimitsSet,
    LimitsTune,
    LoadShed,
    NodeCordon,
    NodeDrain,
    NodeReplace,
    NodeRestore,
    NodeUncordon,
    NotifySend,
    QueryWait,
    ReplicaDrain,
    ReplicaIsolate,
    ReplicaRestart,
    ReplicaRestore,
    TrafficRestore,
    TrafficShift,
    WorkloadRestart,
    WorkloadScale,
)


def register(registry: ActionRegistry) -> None:
    """Add the built-in actions: the entry point ``builtin`` of the group ``fleetward.actions``."""
    for action in BUILTIN:
        registry.add(action.name, action())
