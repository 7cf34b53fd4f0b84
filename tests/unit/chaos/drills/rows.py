"""Makes rows of truth: steady traffic on three zones, and what a fault does to some of it."""

from collections.abc import Callable, Iterable
from typing import Any

from chaos.drills.truth import Request, Truth

ZONES = ("zone-a", "zone-b", "zone-c")
RATE = 10.0
START = 1_000.0


def request(seq: int, at: float, zone: str | None, **fields: Any) -> Request:
    """A good request of 100 tokens that ended after 2.3 s, unless ``fields`` say otherwise."""
    row = {
        "seq": seq, "planned_at": at, "sent_at": at + 0.001, "first_token_at": at + 0.1, "ended_at": at + 2.3,
        "outcome": "ok", "status": 200, "zone": zone, "replica": f"{zone}-0",
        "replica_uid": f"{zone}-0-first", "planned_tokens": 100, "tokens": 100,
        "ttft": 0.1, "tpot": 0.022, "correct": True,
    }  # fmt: skip
    return Request.model_validate({**row, **fields})


def slow(one: Request) -> Request:
    """The same request, answered three times slower than promised."""
    ended = one.planned_at + 7.0
    return one.model_copy(update={"tpot": 0.066, "ended_at": ended})


def refused(one: Request) -> Request:
    """The same request, refused at once."""
    ended = one.planned_at + 0.01
    lost = {
        "outcome": "error",
        "status": 503,
        "ttft": None,
        "tpot": None,
        "tokens": 0,
        "first_token_at": None,
    }
    return one.model_copy(update={**lost, "ended_at": ended, "correct": None})


def opened(one: Request) -> Request:
    """The same request, still open and silent about where it went."""
    return Request(
        seq=one.seq, planned_at=one.planned_at, sent_at=one.sent_at, planned_tokens=one.planned_tokens
    )


def traffic(
    seconds: float,
    zones_at: Callable[[float], Iterable[str]] | None = None,
    change: Callable[[Request, float], Request] | None = None,
) -> list[Request]:
    """Even arrivals, round robin over the zones that take traffic ``at`` seconds after `START`."""
    rows = []
    for seq in range(round(seconds * RATE)):
        after = seq / RATE
        zones = tuple(zones_at(after)) if zones_at else ZONES
        one = request(seq, START + after, zones[seq % len(zones)])
        rows.append(change(one, after) if change else one)
    return rows


def truth(rows: Iterable[Request], now: float | None = None) -> Truth:
    rows = list(rows)
    return Truth(rows, now=max(row.planned_at for row in rows) + 30 if now is None else now)
