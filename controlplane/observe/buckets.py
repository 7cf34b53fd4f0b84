"""Histograms' bounds: where a threshold is judged when it is none of them.

Between two bounds a histogram knows nothing, so that a threshold is snapped to the bound at
or below it and that is said; percentiles are interpolated, and that is said as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

_ALIKE = 1e-9


def snap(bounds: Iterable[float], threshold: float) -> float:
    """Return the bound that stands in for ``threshold``: the next at or below it, else the lowest."""
    known = list(bounds)
    below = [bound for bound in known if bound <= threshold * (1 + _ALIKE)]
    finite = [bound for bound in known if math.isfinite(bound)]
    return max(below, default=min(finite, default=threshold))


def is_bound(bounds: Iterable[float], threshold: float) -> bool:
    """Tell whether a threshold is one of the bounds."""
    return any(abs(bound - threshold) <= _ALIKE * threshold for bound in bounds)


def snapping(bounds: Iterable[float], threshold: float) -> str:
    """Say in words how a threshold is judged on these bounds."""
    known = sorted(bound for bound in bounds if math.isfinite(bound))
    if is_bound(known, threshold):
        return f"{threshold:g} s is a bucket bound"
    at = snap(known, threshold)
    above = next((bound for bound in known if bound > at), None)
    more = f"; the next bound is {above:g} s" if above is not None else ""
    return f"{threshold:g} s is no bucket bound: judged at {at:g} s{more}; percentiles are interpolated"
