"""Tests that need real processes beside them: Envoy, Prometheus, Redis, nodes, workers."""
