"""What a worker executes runs with: the executor and the ports that actions ask for."""

from __future__ import annotations

import os
import secrets
import socket
from functools import partial
from importlib.metadata import entry_points

from controlplane.act.approve import StoreApprovals
from controlplane.act.byhand import Hand
from controlplane.act.executor import Executor
from controlplane.bootstrap.database import open_database
from controlplane.bootstrap.documents import action_registry
from controlplane.carrier import Sender
from controlplane.model.action import SignalReader
from controlplane.model.approval import Approvals
from controlplane.model.policy import Policy
from controlplane.model.ports import Engines, Freezes, Halts, Metrics, Notifier, Web
from controlplane.notify.web import AllowedWeb
from controlplane.notify.webhook import LOG, WebhookNotifier
from controlplane.observe.prompts import HttpEngines
from controlplane.observe.source import PrometheusSource
from controlplane.platforms.lab import LabPlatform
from controlplane.platforms.port import Platform
from controlplane.settings import Settings
from controlplane.store.database import Database
from controlplane.store.freeze_port import StoreFreezes
from controlplane.store.halt_port import StoreHalts
from controlplane.store.signals import StoreSignals


def open_ports(settings: Settings, database: Database) -> dict[type, object]:
    """Return what actions may ask for by ``context.port``: our own ports, and those of other packages."""
    source = PrometheusSource(settings.prometheus, clock=database.clock)
    found: dict[type, object] = {
        Database: database,
        Platform: LabPlatform(settings.platform, clock=database.clock),
        SignalReader: StoreSignals(database),
        Approvals: StoreApprovals(database),
        Metrics: source,
        Notifier: WebhookNotifier(partial(_channels, database)),
        Engines: HttpEngines(),
        Freezes: StoreFreezes(database),
        Halts: StoreHalts(database),
        Web: AllowedWeb(settings.outgoing_hosts),
    }
    for point in sorted(entry_points(group="fleetward.ports"), key=lambda each: each.name):
        found |= point.load()(settings.state_dir.resolve())
    return found


def _channels(database: Database) -> dict[str, str]:
    """Return the notification channels of the policy in force, name to URL, or to the log."""
    with database.reading() as tx:
        policies = tx.documents.active("Policy")
    found = [Policy.model_validate(revision.body) for revision in policies]
    return {channel.name: channel.url or LOG for policy in found for channel in policy.spec.channels}


def process_name(role: str) -> str:
    """Name this process in leases: unique over machines and restarts."""
    return f"{role}@{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(3)}"


def build_executor(settings: Settings, owner: str) -> Executor:
    """Build what a worker executes runs with; each call makes its own database and carrier."""
    database, actions = open_database(settings), action_registry()
    ports = open_ports(settings, database)
    ports[Hand] = Hand(database, actions, ports, database.clock)
    sender = Sender(settings.broker)
    return Executor(database, actions, ports, sender, database.clock, owner, waiting=sender.waiting)
