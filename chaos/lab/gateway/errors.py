"""The gateway's own refusals, which tell what stands in the way."""

from __future__ import annotations

from controlplane.kernel.errors import VersionConflict


class StaleWrite(VersionConflict):
    """The thing changed since the writer read it; ``current`` is what stands there."""

    def __init__(self, message: str, current: object) -> None:
        super().__init__(message)
        self.current = current
