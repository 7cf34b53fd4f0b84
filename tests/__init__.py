"""The tests: unit, conformance, scenarios, integration, e2e and meta; tests/README.md says which is which."""
