"""The documents of one small fleet, in parts: what a test judges it by is the test's to say.

Names and wiring are the same everywhere; windows, throttles and how long a verdict takes follow how often
the metrics are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence

SERVICE = """
apiVersion: fleetward.dev/v1
kind: Service
metadata: {name: chat}
spec:
  model: m
  zones: [{name: zone-a}, {name: zone-b}, {name: zone-c}]
"""


def joined(*documents: str) -> str:
    """Return one file of these."""
    return "---".join(documents)


def policy(mode: str, more: str = "") -> str:
    return f"""
apiVersion: fleetward.dev/v1
kind: Policy
metadata: {{name: policy}}
spec: {{mode: {mode}{more}}}
"""


def slo(
    indicator: str, target: str, fast: str, *, threshold: str = "", by: Sequence[str] = ("service", "zone")
) -> str:
    """Return ``chat-INDICATOR``; ``fast`` is its fast tier as it is written."""
    bound = f"  threshold: {threshold}\n" if threshold else ""
    return f"""
apiVersion: fleetward.dev/v1
kind: SLO
metadata: {{name: chat-{indicator}}}
spec:
  service: chat
  indicator: {indicator}
{bound}  target: {target}
  by: [{", ".join(by)}]
  fast: {{{fast}}}
"""


def zone_failover(triggers: Sequence[str], once: str, hold: str, *, when: str = "", limits: str = "") -> str:
    """Return the playbook; ``triggers`` are as they are written, without their type and level."""
    called = "\n".join(f"    - {{type: slo, {trigger}, by: zone}}" for trigger in triggers)
    kept = f"  limits: {{{limits}}}\n" if limits else ""
    return f"""
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {{name: zone-failover}}
spec:
  triggers:
{called}
  when: incident.zone in service.zones{when}
  throttle: {{onceWithin: {once}, groupBy: [service, zone]}}
  concurrency: {{group: "service/{{{{ service.name }}}}", onConflict: queue}}
{kept}  steps:
    - {{id: shift, uses: traffic.shift, with: {{zone: "{{{{ incident.zone }}}}", weight: 0}}}}
  verify:
    - {{signal: trigger, within: 1m, for: {hold}}}
"""


def hung_replica(once: str, *, evacuated: str = "", rest: str = "") -> str:
    """Return the playbook; ``rest`` is what stands behind its throttle or its steps."""
    return f"""
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {{name: hung-replica}}
spec:
  triggers:
    - {{type: threshold, indicator: stalled, above: 0.5, by: replica{evacuated}}}
  throttle: {{onceWithin: {once}, groupBy: [service, replica]}}
  steps:
    - {{id: restart, uses: replica.restart, with: {{target: "{{{{ incident.target }}}}"}}}}
{rest}"""
