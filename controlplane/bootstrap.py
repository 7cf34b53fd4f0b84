"""The only place that picks implementations and puts them together.

Entry points call one function here and get something that runs. Others add to it through
entry points: ``fleetward.actions`` (given the action registry), ``fleetward.faults``
(given the fault registry), ``fleetward.ports`` (given the settings, returns ports).
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from controlplane.act.executor import Executor
from controlplane.actions import register as register_builtin_actions
from controlplane.actions.validate import check_bundle
from controlplane.kernel.clock import Clock, SystemClock
from controlplane.kernel.errors import InvalidInput
from controlplane.kernel.registry import Registry
from controlplane.model.action import Action, ActionRegistry, SignalReader
from controlplane.model.base import Mode
from controlplane.model.documents import Bundle, load_bundle
from controlplane.model.policy import Policy
from controlplane.model.ports import Metrics, Notifier
from controlplane.model.records import Revision
from controlplane.notify.webhook import WebhookNotifier
from controlplane.observe.source import PrometheusSource
from controlplane.platforms.lab import LabPlatform
from controlplane.platforms.port import Platform
from controlplane.settings import Settings
from controlplane.store.database import Database
from controlplane.store.signals import StoreSignals

SUFFIXES = (".yaml", ".yml")


def open_database(settings: Settings, clock: Clock | None = None) -> Database:
    """Open the database and bring its schema up to date."""
    if settings.database_url is None:
        settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = Database(settings.database, clock or SystemClock())
    database.migrate()
    return database


def action_registry() -> ActionRegistry:
    """Return every action that is installed: our own, chaos's, third parties'."""
    registry: ActionRegistry = Registry[Action[Any]]("action")
    register_builtin_actions(registry)
    registry.load_entry_points("fleetward.actions")
    return registry


def fault_names() -> list[str]:
    """Return the names of the installed fault catalogue."""
    registry: Registry[Any] = Registry("fault")
    registry.load_entry_points("fleetward.faults")
    return registry.names()


def read_files(paths: Iterable[Path]) -> list[tuple[str, str]]:
    """Return (name, text) of the YAML files in ``paths``; of a folder all but tests, sorted."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        found += [
            file
            for file in inside
            if file == path or (file.suffix in SUFFIXES and not file.stem.endswith(".test"))
        ]
    texts = []
    for file in found:
        try:
            texts.append((str(file), file.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError) as error:
            msg = f"{file} cannot be read as text: {error}"
            raise InvalidInput(msg) from error
    return texts


def load_files(paths: Iterable[Path]) -> Bundle:
    """Load and check documents; problems are collected in the bundle."""
    return check_bundle(load_bundle(read_files(paths)), action_registry(), fault_names())


def check_text(file: str, text: str) -> Bundle:
    """The same for one text that somebody is editing."""
    return check_bundle(load_bundle([(file, text)]), action_registry(), fault_names())


def apply_bundle(database: Database, bundle: Bundle, mode: Mode | None = None) -> list[Revision]:
    """Store every document as the active revision of its name, or none of them.

    A bundle with problems changes nothing, is kept as a visible error, and raised.
    """
    with database.transaction() as tx:
        tx.documents.replace_problems(bundle.problems)
    bundle.raise_problems()
    with database.transaction() as tx:
        revisions = []
        for entry in bundle.loaded:
            model = entry.model
            if mode is not None and isinstance(model, Policy):
                model = model.model_copy(update={"spec": model.spec.model_copy(update={"mode": mode})})
            sha256 = tx.documents.put(model, source=entry.document.file)
            revisions.append(tx.documents.get(sha256))
    return revisions


def open_ports(settings: Settings, database: Database) -> dict[type, object]:
    """Return what actions may ask for by ``context.port``: our own ports, and those of other packages."""
    source = PrometheusSource(settings.prometheus, clock=database.clock)
    found: dict[type, object] = {
        Database: database,
        Platform: LabPlatform(settings.platform, clock=database.clock),
        SignalReader: StoreSignals(database),
        Metrics: source,
        Notifier: WebhookNotifier(partial(_channels, database)),
    }
    for point in sorted(entry_points(group="fleetward.ports"), key=lambda each: each.name):
        found |= point.load()(settings.state_dir.resolve())
    return found


def _channels(database: Database) -> dict[str, str]:
    """Return the notification channels of the policy in force, name to URL."""
    with database.reading() as tx:
        policies = tx.documents.active("Policy")
    found = [Policy.model_validate(revision.body) for revision in policies]
    return {channel.name: channel.url for policy in found for channel in policy.spec.channels}


def process_name(role: str) -> str:
    """Name this process in leases: unique over machines and restarts."""
    return f"{role}@{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(3)}"


def build_executor(settings: Settings, wake: Callable[[str], None]) -> Executor:
    """Build what a worker executes runs with."""
    database = open_database(settings)
    return Executor(
        database,
        action_registry(),
        open_ports(settings, database),
        wake,
        database.clock,
        process_name("worker"),
    )
