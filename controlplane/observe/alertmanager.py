"""Alertmanager's own word on which alerts stand: what a webhook alone cannot tell.

A silenced or inhibited alert never sends its end, and a message may be lost for good. So
the alerts that were sent here are held against its list. It refuses to adopt alerts that
were not sent here: that is the routes' to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import requests

from controlplane.kernel.errors import Unavailable

CONNECT_TIMEOUT, READ_TIMEOUT = 1.0, 4.0


@dataclass(frozen=True, slots=True)
class Standing:
    """One alert as Alertmanager lists it; ``suppressed``: silenced, inhibited or muted."""

    fingerprint: str
    starts_at: datetime
    suppressed: bool


class Alertmanager(Protocol):
    """Port: where the list of standing alerts comes from."""

    def standing(self) -> Sequence[Standing]:
        """Return all alerts that have not ended; raise `Unavailable` when nobody can tell."""
        ...


class HttpAlertmanager:
    """`Alertmanager` by its API, version 2."""

    def __init__(self, url: str) -> None:
        self._url = f"{url.rstrip('/')}/api/v2/alerts"

    def standing(self) -> list[Standing]:
        try:
            answer = requests.get(self._url, timeout=(CONNECT_TIMEOUT, READ_TIMEOUT))
            answer.raise_for_status()
            return [_standing(each) for each in answer.json()]
        except (requests.RequestException, ValueError, KeyError, TypeError) as error:
            msg = f"Alertmanager at {self._url} does not answer ({type(error).__name__})"
            raise Unavailable(msg) from error


def _standing(found: dict[str, Any]) -> Standing:
    return Standing(
        fingerprint=str(found["fingerprint"]),
        starts_at=datetime.fromisoformat(found["startsAt"]),
        suppressed=found["status"]["state"] == "suppressed",
    )
