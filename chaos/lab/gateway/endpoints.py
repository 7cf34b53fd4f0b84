"""Envoy's endpoint files, as they follow from what is declared and from what runs on until it may end."""

from __future__ import annotations

from collections.abc import Collection

from chaos.lab.gateway import envoy
from chaos.lab.gateway.declared import Declared
from chaos.lab.gateway.writelog import WriteLog
from chaos.lab.layout import Layout


def write(
    layout: Layout,
    log: WriteLog,
    zone: str,
    version: str,
    *,
    leaving: Collection[str] = (),
    out: Collection[str] | None = None,
) -> None:
    """Make a zone's file say what the log says; ``out`` instead of what it says of the rotation.

    ``leaving``: replicas that shall run no more and do still: without new requests.
    """
    declared = Declared(log)
    without = set(declared.out_of_rotation() if out is None else out) | set(leaving)
    listed = declared.wanted(layout, zone) | set(leaving)
    envoy.write_endpoints(layout, zone, without, version, listed)


def write_all(layout: Layout, log: WriteLog) -> None:
    """Make all files say what the log says."""
    for zone in layout.zones:
        write(layout, log, zone, str(log.next_seq - 1))
