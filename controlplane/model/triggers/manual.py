"""No trigger at all: a playbook that only people and other playbooks start."""

from __future__ import annotations

from typing import Literal

from controlplane.model.triggers.base import Trigger


class ManualTrigger(Trigger):
    """Started by a person or by another playbook only."""

    type: Literal["manual"]
