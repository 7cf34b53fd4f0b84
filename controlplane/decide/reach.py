"""How far a playbook can reach: the widest of what its actions declare, whatever their parameters.

Judged before anything is looked at, by the actions' own promises, which the engine holds them to; an
author cannot say it of a playbook. An action that nobody knows may do anything.
"""

from __future__ import annotations

from controlplane.model.action import ActionRegistry, Reach
from controlplane.model.playbook import Playbook

_WIDER = (Reach.NONE, Reach.SERVING, Reach.OUT)


def reach_of(playbook: Playbook, actions: ActionRegistry) -> Reach:
    """Return the widest reach of the playbook's steps.

    What its ladder starts afterwards is judged when it is started.
    """
    reaches = [
        actions.get(step.uses).reach_with(step.with_) if step.uses in actions else Reach.OUT
        for step in playbook.spec.steps
    ]
    return max(reaches, key=_WIDER.index)
