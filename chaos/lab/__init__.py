"""The lab: a fleet of three zones that fits on a laptop and fails like a real one.

Every node is a process of its own, behind a real Envoy and scraped by a real Prometheus.
Nothing in here is read by the control plane except through the endpoints a real fleet has.
"""
