"""What the controller process is made of."""

from __future__ import annotations

from controlplane.bootstrap.database import open_database
from controlplane.bootstrap.documents import action_registry
from controlplane.carrier import Sender
from controlplane.controller.loop import Controller, Parts
from controlplane.observe.alertmanager import HttpAlertmanager
from controlplane.observe.source import PrometheusSource
from controlplane.platforms.lab import LabPlatform
from controlplane.settings import Settings


def build_controller(settings: Settings, owner: str) -> Controller:
    """Build the loop over the addresses that the settings lead to."""
    database = open_database(settings)
    clock = database.clock
    sender = Sender(settings.broker)
    return Controller(
        Parts(
            database=database,
            platform=LabPlatform(settings.platform, clock=clock),
            source=PrometheusSource(settings.prometheus, clock=clock),
            actions=action_registry(),
            wake=sender,
            waiting=sender.waiting,
            clock=clock,
            owner=owner,
            tick=settings.tick_seconds,
            lag=settings.lag_seconds,
            alertmanager=HttpAlertmanager(settings.alertmanager_url) if settings.alertmanager_url else None,
        )
    )
