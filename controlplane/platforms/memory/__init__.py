"""A whole platform in memory, for tests and rehearsals: the same rules, no processes."""

from __future__ import annotations

from controlplane.platforms.memory.journal import When
from controlplane.platforms.memory.platform import MemoryPlatform

__all__ = ["MemoryPlatform", "When"]
