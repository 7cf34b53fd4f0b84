"""Which targets a fault hits: chosen once, the same whoever asks, from what the selector allows.

The choice is drawn from the run and the fault's name alone. So the guards judge, before the step
starts, exactly the targets that are hit after it; a worker that comes after a crash finds the same.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from controlplane.kernel.errors import InvalidInput
from controlplane.model.base import Level
from controlplane.model.drill import FaultSpec, Selector
from controlplane.model.target import Target


def choose(fault: FaultSpec, level: Level, fleet: Sequence[Target], run: str) -> list[Target]:
    """Return the targets of a fault, sorted; empty when the selector matches none.

    Raises `InvalidInput` when the selector names something that the fleet does not have.
    """
    _check_names(fault.selector, fleet)
    matching = sorted((one for one in fleet if one.level == level and _matches(one, fault.selector)), key=str)
    count = min(len(matching), _count(fault, len(matching)))
    drawn = random.Random(f"{run}/{fault.name}").sample(matching, count)
    return sorted(drawn, key=str)


def _count(fault: FaultSpec, total: int) -> int:
    value = fault.value or 0
    match fault.mode:
        case "one":
            return 1
        case "all":
            return total
        case "fixed":
            return value
        case "fixedPercent":
            return math.ceil(total * value / 100)


def _matches(target: Target, selector: Selector) -> bool:
    """Tell whether a target is, or lies in, what the selector names."""
    wanted = (
        (target.zone, selector.zones),
        (target.node, selector.nodes),
        (target.replica, selector.replicas),
    )
    return all(not names or name in names for name, names in wanted)


def _check_names(selector: Selector, fleet: Sequence[Target]) -> None:
    for what, names in (("zone", selector.zones), ("node", selector.nodes), ("replica", selector.replicas)):
        known = sorted({str(getattr(one, what)) for one in fleet if getattr(one, what) is not None})
        for name in names:
            if name not in known:
                raise InvalidInput(f"the fleet has no {what} `{name}`", hint=f"{what}s: {', '.join(known)}")
