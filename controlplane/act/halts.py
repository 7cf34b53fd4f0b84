"""Which halt, if any, stands in a run's way: pure comparison of scopes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controlplane.model.records import Halt, Run
from controlplane.model.target import Target


def standing_in_way(halts: Iterable[Halt], run: Run, touched: Sequence[Target] = ()) -> Halt | None:
    """Return the first halt that covers the run's service and target, or a target it is about to touch."""
    targets = [*touched, Target.parse(run.target)] if run.target is not None else list(touched)
    return next((halt for halt in halts if _covers(halt, run.service, targets)), None)


def _covers(halt: Halt, service: str, targets: Sequence[Target]) -> bool:
    if halt.target is not None:
        halted = Target.parse(halt.target)
        return any(halted.overlaps(target) for target in targets) or (
            not targets and halted.service == service
        )
    if halt.service is not None and halt.service != service:
        return False
    if halt.zone is not None and targets:
        return any(target.zone is None or target.zone == halt.zone for target in targets)
    return True
