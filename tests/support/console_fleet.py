"""The told fleet as its controller sees it: zone-b gray and out of service, node-c2 on its way."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from controlplane.model.overview import (
    Headline,
    Health,
    HistoryPoint,
    NodeCell,
    Overview,
    Readings,
    ReplicaCell,
    SourceState,
    ZoneCell,
)

FAILOVER = "run-failover-now"
INJECTED_AGO = 95.0
SHIFTED_AGO = 80.0


def ago(now: datetime, seconds: float) -> datetime:
    return now - timedelta(seconds=seconds)


def overview(now: datetime) -> Overview:
    wave = math.sin(now.timestamp() / 7)
    return Overview(
        service="chat",
        cluster="local",
        tick_at=now,
        evaluated_at=now,
        headline=Headline(
            etpm=57_840 + 600 * wave,
            etpm_estimate=58_300,
            tokens_per_second=981 + 12 * wave,
            success_rate=0.9987,
            ttft_p95=0.412,
            tpot_p95=0.0312,
        ),
        zones=tuple(_zone(name, wave) for name in ("zone-a", "zone-b", "zone-c")),
        history=tuple(_point(now, seconds) for seconds in range(900, -2, -2)),
        sources=(
            SourceState(name="prometheus", state="fresh", last_at=now),
            SourceState(name="canary", state="fresh", last_at=now),
            SourceState(name="platform", state="fresh", last_at=now),
        ),
    )


def _point(now: datetime, seconds: int) -> HistoryPoint:
    dip = 0.0
    if SHIFTED_AGO - 12 < seconds < INJECTED_AGO:
        dip = 0.42 * min(1.0, (INJECTED_AGO - seconds) / 8)
    if 620 < seconds < 660:
        dip = 0.31
    noise = math.sin(seconds / 5) * 900 + math.sin(seconds / 23) * 1400
    etpm = (59_000 + noise) * (1 - dip)
    return HistoryPoint(
        at=ago(now, seconds),
        etpm=etpm,
        etpm_estimate=etpm * 1.01,
        tokens_per_second=etpm / 60 * (1 + dip / 2),
        success_rate=1 - dip / 10,
        ttft_p95=0.4 + dip,
        tpot_p95=0.031 + dip / 10,
    )


_READINGS = {
    "zone-a": Readings(
        etpm=29_480,
        tokens_per_second=497,
        success_rate=0.9991,
        ttft_p95=0.418,
        tpot_p95=0.0318,
        running=26,
        queue=1,
        kv_use=0.63,
    ),
    "zone-b": Readings(etpm=0, tokens_per_second=0, running=2, queue=0, kv_use=0.04, tpot_p95=0.0694),
    "zone-c": Readings(
        etpm=28_360,
        tokens_per_second=484,
        success_rate=0.9983,
        ttft_p95=0.407,
        tpot_p95=0.0305,
        running=25,
        queue=0,
        kv_use=0.61,
    ),
}


def _zone(name: str, wave: float) -> ZoneCell:
    gray = name == "zone-b"
    letter = name[-1]
    return ZoneCell(
        name=name,
        target=f"chat/local/{name}",
        weight=0 if gray else 100,
        share=0.0 if gray else 0.5,
        health=Health.SUSPENDED if gray else Health.HEALTHY,
        reason="TPOT 69 ms, objective 50 ms: taken out by zone-failover" if gray else None,
        holder=FAILOVER if gray else None,
        readings=_READINGS[name],
        nodes=tuple(_node(name, f"node-{letter}{number}", wave) for number in (1, 2)),
    )


def _node(zone: str, node: str, wave: float) -> NodeCell:
    gray = zone == "zone-b"
    loading = node == "node-c2"
    return NodeCell(
        name=node,
        target=f"chat/local/{zone}/{node}",
        ready=True,
        schedulable=node != "node-c2",
        health=Health.DEGRADED if gray else Health.PROGRESSING if loading else Health.HEALTHY,
        replicas=tuple(_replica(zone, node, number, wave) for number in (0, 1)),
    )


def _replica(zone: str, node: str, number: int, wave: float) -> ReplicaCell:
    name = f"replica-{node[-2:]}-{number}"
    loading = node == "node-c2" and number == 1
    gray = zone == "zone-b"
    health = Health.PROGRESSING if loading else Health.DEGRADED if gray else Health.HEALTHY
    busy = Readings(running=round(6 + 2 * wave + number), queue=number, kv_use=0.58 + 0.05 * number)
    idle = Readings(running=1, queue=0, kv_use=0.02)
    return ReplicaCell(
        name=name,
        target=f"chat/local/{zone}/{node}/{name}",
        uid=f"{name}-7f3a",
        health=health,
        reason="Loading the model" if loading else "TPOT 69 ms" if gray else None,
        canary=None if loading else not gray,
        readings=Readings() if loading else idle if gray else busy,
    )
