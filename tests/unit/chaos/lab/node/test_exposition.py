"""The quick text equals the library's own, also when values and series change."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Summary
from prometheus_client.exposition import generate_latest

from chaos.lab.node.exposition import Exposition

_values = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(st.tuples(st.text(max_size=5), _values), max_size=6), st.floats(0, 1e9))
def test_the_text_is_the_librarys_byte_for_byte(changes: list[tuple[str, float]], amount: float) -> None:
    registry = CollectorRegistry()
    gauge = Gauge("a:gauge", 'with "quotes" and a \\ and a\nline', ["label"], registry=registry)
    counter = Counter("never_used", "no child yet", ["label"], registry=registry)
    Histogram("spread", "bounds", buckets=(0.1, 1, 2.5), registry=registry).observe(amount)
    Summary("size", "sums", registry=registry).observe(amount)
    exposition = Exposition(registry)
    assert exposition.text() == generate_latest(registry)
    for label, value in changes:
        gauge.labels(label).set(value)
        counter.labels(label).inc()
        assert exposition.text() == generate_latest(registry)
