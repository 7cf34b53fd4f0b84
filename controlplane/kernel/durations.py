"""Durations as operators write them (``30s``, ``5m``, ``1h30m``, ``4w``) and as code uses them: seconds.

Months and years are refused: they have no fixed length. A bare number is refused too,
since nobody can tell seconds from milliseconds at 3 a.m.; ``0`` alone is accepted.
"""

from __future__ import annotations

import math
import re

from controlplane.kernel.errors import InvalidInput

UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
VALID_FORMS = "write a number with a unit: ms, s, m, h, d or w, for example 30s, 1h30m, 4w"
MAX_SECONDS = 10 * 366 * 86400.0

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_WHOLE = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d|w))+")


def parse_duration(text: str) -> float:
    """Return seconds for ``text``; raise `InvalidInput` for anything that is not a duration.

    Units must go from large to small and not repeat, as in Prometheus and Go.
    """
    if text == "0":
        return 0.0
    if len(text) > 64 or not text.isascii() or not _WHOLE.fullmatch(text):
        msg = f"{text[:64]!r} is not a duration"
        raise InvalidInput(msg, hint=VALID_FORMS)
    total, last = 0.0, math.inf
    for number, unit in _PART.findall(text):
        size = UNIT_SECONDS[unit]
        if size >= last:
            msg = f"{text!r} is not a duration: units go from large to small, each once"
            raise InvalidInput(msg, hint=VALID_FORMS)
        last = size
        total += float(number) * size
    if total > MAX_SECONDS:
        msg = f"{text!r} is longer than ten years"
        raise InvalidInput(msg, hint=VALID_FORMS)
    return total


def format_duration(seconds: float) -> str:
    """Write seconds as operators read them; the inverse of `parse_duration` to a millisecond."""
    millis = round(seconds * 1000)
    if millis == 0:
        return "0s"
    sign, millis = ("-", -millis) if millis < 0 else ("", millis)
    parts = []
    for unit in ("w", "d", "h", "m", "s", "ms"):
        size = round(UNIT_SECONDS[unit] * 1000)
        count, millis = divmod(millis, size)
        if count:
            parts.append(f"{count}{unit}")
    return sign + "".join(parts)
