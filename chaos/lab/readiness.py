"""When is a lab ready: questions to its own endpoints, each answered with a count out of a total.

The questions are those a user would ask: do the replicas serve, does the gateway see them, does
a completion come back, is everything scraped, does traffic run. Nothing is started here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx

from chaos.lab.layout import Layout

_TIMEOUT = 2.0  # seconds for one question


class Count(NamedTuple):
    """How far something has come."""

    done: int
    total: int

    @property
    def complete(self) -> bool:
        return self.done >= self.total


Question = Callable[[httpx.Client, Layout], Count]


@contextmanager
def client() -> Iterator[httpx.Client]:
    """A client for loopback: no proxies from the environment."""
    with httpx.Client(timeout=_TIMEOUT, trust_env=False) as session:
        yield session


def ask(question: Question, session: httpx.Client, layout: Layout) -> Count:
    """Ask; no answer, or one that cannot be read, is nothing done yet."""
    try:
        return question(session, layout)
    except (httpx.HTTPError, LookupError, ValueError):
        return Count(0, 1)


def replicas(session: httpx.Client, layout: Layout) -> Count:
    """Replicas that are ready by the control API."""
    topology = _json(session, f"{layout.url(layout.platform_port)}/v1/topology")
    states = [
        replica["ready"]
        for zone in topology["zones"]
        for node in zone["nodes"]
        for replica in node["replicas"]
    ]
    return Count(sum(states), len(states))


def endpoints(session: httpx.Client, layout: Layout) -> Count:
    """Replicas that Envoy's health checks have passed."""
    response = session.get(f"{layout.url(layout.admin_port)}/stats?filter=membership_(healthy|total)$")
    found = dict.fromkeys(("healthy", "total"), 0)
    for name, value in re.findall(r"membership_(healthy|total): (\d+)", response.text):
        found[name] += int(value)
    return Count(found["healthy"], max(1, found["total"]))


def completion(session: httpx.Client, layout: Layout) -> Count:
    """One completion through the gateway."""
    body = {
        "model": layout.settings.model,
        "messages": [{"role": "user", "content": "ready?"}],
        "max_tokens": 1,
    }
    response = session.post(f"{layout.url(layout.gateway_port)}/v1/chat/completions", json=body)
    return Count(int(response.status_code == httpx.codes.OK), 1)


def scrapes(session: httpx.Client, layout: Layout) -> Count:
    """Targets that Prometheus has scraped."""
    document = _json(session, f"{layout.url(layout.prometheus_port)}/api/v1/targets?state=active")
    health = [target["health"] == "up" for target in document["data"]["activeTargets"]]
    return Count(sum(health), max(1, len(health)))


def traffic(session: httpx.Client, layout: Layout) -> Count:
    """Whether requests are being sent."""
    truth = _json(session, f"{layout.url(layout.traffic_port)}/truth")
    return Count(int(truth["planned"]["requests"] > 0), 1)


def _json(session: httpx.Client, url: str) -> Any:
    response = session.get(url)
    response.raise_for_status()
    return response.json()
