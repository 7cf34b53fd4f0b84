"""What people plan and start playbooks with, on the live fleet."""

from __future__ import annotations

from controlplane.act.byhand import Hand
from controlplane.bootstrap.documents import action_registry
from controlplane.bootstrap.engine import open_ports
from controlplane.settings import Settings
from controlplane.store.database import Database


def build_hand(settings: Settings, database: Database) -> Hand:
    """Return what plans and starts by the actions and ports that a worker of these settings has."""
    return Hand(database, action_registry(), open_ports(settings, database), database.clock)
