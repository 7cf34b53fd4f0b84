"""Burn rates over several windows, and what may be concluded from few events. Pure array arithmetic.

As in the SRE workbook: a tier fires while both of its windows burn the budget at least
``factor`` times too fast. Time that nobody observed counts as good, so that a young
history does not turn a long window into a short one; a share from few events is taken at
its Wilson bound, so that one bad request in ten is not an outage. Without enough events
there is no verdict.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Z = 3.0
"""Standard deviations: one chance in 740 of being wrong by accident, for signals judged every two seconds."""


def wilson(good: Floats, total: Floats, *, upper: bool) -> Floats:
    """Return a bound of the share that ``good`` out of ``total`` shows; 1 or 0 without events."""
    n = np.maximum(total, 1e-12)
    share = np.clip(good / n, 0.0, 1.0)
    middle = share + Z * Z / (2 * n)
    spread = Z * np.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    bound = (middle + (spread if upper else -spread)) / (1 + Z * Z / n)
    return np.where(total > 0, np.clip(bound, 0.0, 1.0), 1.0 if upper else 0.0)


def burn_rate(good: Floats, total: Floats, target: float | Floats, observed: float | Floats) -> Floats:
    """Return how many times too fast the budget burns; ``observed`` is the share of the window seen, 0..1.

    The least rate that the events make likely. 0 without events.
    """
    bad = wilson(np.maximum(total - good, 0.0), total, upper=False)
    return np.where(total > 0, bad * observed / (1.0 - target), 0.0)


def tier_fires(
    long: Floats, short: Floats, events: Floats, factor: float | Floats, min_events: float | Floats
) -> Bools:
    """Tell for each row whether a tier fires, from both windows' burn rates and the long one's events."""
    return np.asarray((long >= factor) & (short >= factor) & (events >= min_events))


def fast_fires(good: Floats, total: Floats, below: float | Floats, min_samples: float | Floats) -> Bools:
    """Tell for each row whether its good share is under ``below``, on enough samples."""
    share = good / np.maximum(total, 1e-12)
    return np.asarray((total >= min_samples) & (share < below))


def is_within(good: Floats, total: Floats, target: float | Floats) -> Bools:
    """Tell for each row whether its good share may be the target or better: not surely worse."""
    return np.asarray(wilson(good, total, upper=True) >= target)
