"""The documents that backtests of a recorded fleet are made with, at the windows of a slow scrape."""

from __future__ import annotations

from tests.support.chat_documents import SERVICE, hung_replica, joined, policy, slo, zone_failover

_SCALE_OUT = """
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: scale-out}
spec:
  triggers:
    - {type: threshold, indicator: queue, above: 20, for: 1m, by: service}
  throttle: {onceWithin: 10m, groupBy: [service]}
  steps:
    - {id: tell, uses: notify.send, with: {channel: oncall, title: "{{ incident.title }}"}}
"""

DOCUMENTS = joined(
    SERVICE,
    policy("auto", ", channels: [{name: oncall, log: true}]"),
    slo("success", "99%", "window: 1m, below: 60%, minSamples: 8"),
    slo("itl", "95%", "window: 1m, below: 60%, minSamples: 100", threshold="50ms"),
    slo("ttft", "95%", "window: 6s, below: 60%, minSamples: 8", threshold="1s"),
    zone_failover(
        ["slo: chat-success, tiers: [fast, page]", "slo: chat-itl, tiers: [fast, page]"],
        "10m",
        "6s",
        when=" and service.zones | length > 1",
        limits="maxZones: 1, minHealthy: 50%",
    ),
    hung_replica("10m", rest="  limits: {maxReplicas: 2, minHealthy: 50%}\n"),
    _SCALE_OUT,
)
