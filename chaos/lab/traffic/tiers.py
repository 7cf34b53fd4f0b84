"""Which tier a client belongs to: a share of all users each, told to the gateway by a header of the request.

The tier of a request is a function of the seed and the request's number.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

TIER_HEADER = "x-fleetward-tier"
"""Request header by which a gateway can tell tiers apart."""


class Tiers:
    """The mix of tiers of one seed; shares relative to their sum."""

    def __init__(self, seed: int, mix: Mapping[str, float]) -> None:
        self._seed = seed
        self._names, self._shares = list(mix), list(mix.values())

    def of(self, index: int) -> str:
        """The tier of request ``index``; empty without a mix."""
        if not self._names:
            return ""
        return random.Random(f"{self._seed}/tier/{index}").choices(self._names, self._shares)[0]
