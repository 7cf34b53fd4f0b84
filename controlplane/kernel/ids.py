"""Identifiers that sort by time and can be read aloud: ``run-01jd3k8q2m7x4f9a``.

Ten characters of milliseconds and six of randomness in Crockford's base 32. They are
names, not secrets: for tokens use `secrets`.
"""

from __future__ import annotations

import secrets

from controlplane.kernel.clock import Clock, SystemClock

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_CLOCK = SystemClock()


def _base32(value: int, width: int) -> str:
    digits = []
    for _ in range(width):
        value, rest = divmod(value, 32)
        digits.append(_ALPHABET[rest])
    return "".join(reversed(digits))


def new_id(prefix: str, clock: Clock = _CLOCK) -> str:
    """Return a fresh identifier; ids made later sort later (to the millisecond)."""
    millis = int(clock.now().timestamp() * 1000)
    return f"{prefix}-{_base32(millis, 10)}{_base32(secrets.randbits(30), 6)}"
