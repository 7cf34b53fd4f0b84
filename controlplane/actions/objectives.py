"""What the shape of an SLO cannot tell: indicators that do not exist, or that are no share of anything.

An objective on an indicator that nobody knows would be unknown for ever, and look as if it were watched.
"""

from __future__ import annotations

from collections.abc import Iterator

from controlplane.kernel.errors import Problem
from controlplane.kernel.registry import did_you_mean
from controlplane.kernel.yaml import Document
from controlplane.observe.library import INDICATORS, LATENCIES


def check_objective(document: Document) -> Iterator[Problem]:
    """Find an indicator that no objective can have, and a threshold that is missing or too much."""
    spec = document.data["spec"]
    name, threshold = spec.get("indicator"), spec.get("threshold")
    if isinstance(name, dict):
        if threshold is not None:
            message = "a query says itself what is good: it has no threshold"
            yield document.problem(("spec", "threshold"), message, "leave it out", key=True)
        return
    if not isinstance(name, str):
        return
    shares = [each for each in INDICATORS if INDICATORS[each].kind == "ratio"]
    if name not in INDICATORS:
        message = f"there is no indicator `{name}`"
        yield document.problem(("spec", "indicator"), message, did_you_mean(name, shares))
    elif name not in shares:
        message = f"`{name}` is a number, not a share of events: it can be no objective"
        hint = f"use it in a trigger `threshold`; valid here: {', '.join(sorted(shares))}"
        yield document.problem(("spec", "indicator"), message, hint)
    elif name in LATENCIES and threshold is None:
        hint = "write for example `threshold: 1s`"
        yield document.problem(("spec", "indicator"), f"`{name}` needs a threshold", hint)
    elif name not in LATENCIES and threshold is not None:
        message = f"`{name}` has no threshold: its events are good or bad by themselves"
        yield document.problem(("spec", "threshold"), message, "leave it out", key=True)
