"""The one budget as a run meets it: judged on what is out now, and claimed in the same transaction.

Before a step starts, as it goes on, and before an undo takes something out. It decides nothing:
`controlplane.decide.blast` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.act.engine import Pinned
from controlplane.decide.blast import blast_radius
from controlplane.model.action import Dimension, Touch
from controlplane.model.playbook import Limits
from controlplane.model.records import GuardVerdict
from controlplane.model.topology import Topology
from controlplane.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Budget:
    """What bounds a run: the limits of its plan and of the policy, and what the policy protects."""

    limits: Sequence[Limits]
    protected: Sequence[str] = ()

    @classmethod
    def of(cls, pinned: Pinned) -> Budget:
        """Return the budget of what a run pins."""
        policy = pinned.policy
        if policy is None:
            return cls([pinned.plan.limits])
        return cls([pinned.plan.limits, policy.spec.limits], policy.spec.protected)

    def judge(
        self, tx: Transaction, holder: str, touches: Sequence[Touch], topology: Topology
    ) -> GuardVerdict:
        """Judge what is about to be touched, as things are in this transaction."""
        return blast_radius(
            touches, tx.ledger.list(), topology, self.limits, holder=holder, protected=self.protected
        )


def claim(tx: Transaction, holder: str, touches: Sequence[Touch], why: str) -> None:
    """Claim what is about to go out of service."""
    for touch in touches:
        if takes_out(touch):
            tx.ledger.claim(touch.target, touch.dimension, holder, why)


def takes_out(touch: Touch) -> bool:
    """Tell whether what is touched goes out of service by it."""
    return touch.dimension is not Dimension.NOTHING and not touch.returns
