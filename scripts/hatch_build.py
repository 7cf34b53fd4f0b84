"""Puts what is not Python into the wheel: the shipped playbooks, and the built console when there is one.

An editable install needs neither: it reads them where they lie.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHIPPED = {"playbooks": "controlplane/shipped/playbooks", "web/dist": "controlplane/shipped/console"}


class ShippedFiles(BuildHookInterface):  # type: ignore[type-arg] # hatchling's own configuration type
    """Hatchling's hook; ``version`` is ``standard`` or ``editable``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "standard":
            found = {source: target for source, target in SHIPPED.items() if Path(self.root, source).is_dir()}
            build_data["force_include"].update(found)
