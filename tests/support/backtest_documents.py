"""The documents that backtests of a recorded fleet are made with, at the windows of a slow scrape."""

from __future__ import annotations

DOCUMENTS = """
apiVersion: fleetward.dev/v1
kind: Service
metadata: {name: chat}
spec:
  model: m
  zones: [{name: zone-a}, {name: zone-b}, {name: zone-c}]
---
apiVersion: fleetward.dev/v1
kind: Policy
metadata: {name: policy}
spec: {mode: auto, channels: [{name: oncall, log: true}]}
---
apiVersion: fleetward.dev/v1
kind: SLO
metadata: {name: chat-success}
spec:
  service: chat
  indicator: success
  target: 99%
  by: [service, zone]
  fast: {window: 1m, below: 60%, minSamples: 8}
---
apiVersion: fleetward.dev/v1
kind: SLO
metadata: {name: chat-itl}
spec:
  service: chat
  indicator: itl
  threshold: 50ms
  target: 95%
  by: [service, zone]
  fast: {window: 1m, below: 60%, minSamples: 100}
---
apiVersion: fleetward.dev/v1
kind: SLO
metadata: {name: chat-ttft}
spec:
  service: chat
  indicator: ttft
  threshold: 1s
  target: 95%
  by: [service, zone]
  fast: {window: 6s, below: 60%, minSamples: 8}
---
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: zone-failover}
spec:
  triggers:
    - {type: slo, slo: chat-success, tiers: [fast, page], by: zone}
    - {type: slo, slo: chat-itl, tiers: [fast, page], by: zone}
  when: incident.zone in service.zones and service.zones | length > 1
  throttle: {onceWithin: 10m, groupBy: [service, zone]}
  concurrency: {group: "service/{{ service.name }}", onConflict: queue}
  limits: {maxZones: 1, minHealthy: 50%}
  steps:
    - {id: shift, uses: traffic.shift, with: {zone: "{{ incident.zone }}", weight: 0}}
  verify:
    - {signal: trigger, within: 1m, for: 6s}
---
apiVersion: fleetward.dev/v1
kind: Playbook
metadata: {name: hung-replica}
spec:
  triggers:
    - {type: threshold, indicator: stalled, above: 0.5, by: replica}
  throttle: {onceWithin: 10m, groupBy: [service, replica]}
  limits: {maxReplicas: 2, minHealthy: 50%}
  steps:
    - {id: restart, uses: replica.restart, with: {target: "{{ incident.target }}"}}
---
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
