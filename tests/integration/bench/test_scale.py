"""The measurement itself: ticks and rules judge the same objectives over one real Prometheus."""

import shutil
from pathlib import Path

import pytest

from controlplane.bench import prometheus, scale
from controlplane.bench.fleet import PER_REPLICA, PaperFleet

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed"),
]


def test_ticks_and_rules_are_measured_over_the_same_series(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale, "MANY", PaperFleet("many", 2, 2))
    monkeypatch.setattr(scale, "FEW", PaperFleet("few", 1, 1, copies=3))
    monkeypatch.setattr(scale, "SIZES", (PaperFleet("small", 1, 1), PaperFleet("large", 1, 2)))
    monkeypatch.setattr(scale, "TICKS", 4)
    monkeypatch.setattr(scale, "TIMES", 1)
    monkeypatch.setattr(prometheus, "EVERY", 1)
    found = scale.measure(tmp_path, days=0.02)
    targets = 1 + 3 + 6 + 12
    assert found.many.judged == 4 * targets
    assert found.few.judged == 3 * 4 * 10
    assert 0 < found.many.decide <= found.many.whole
    assert [pair.series for pair in found.pairs] == [3 * PER_REPLICA, 6 * PER_REPLICA]
    assert [pair.judged for pair in found.pairs] == [4 * 10, 4 * 13]
    assert all(pair.tick > 0 and pair.rules > 0 for pair in found.pairs)
