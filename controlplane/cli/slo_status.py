"""``fleetward slo status`` and ``explain``: how the objectives stand that a controller watches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from controlplane.cli.context import StateDir, database
from controlplane.cli.output import Format, FormatOption, emit_json, emit_table, out
from controlplane.kernel.clock import to_rfc3339
from controlplane.kernel.durations import format_duration

if TYPE_CHECKING:
    from controlplane.model.objectives import ObjectiveStatus, TierStatus


def add_to(group: typer.Typer) -> None:
    """Add the commands to the group ``fleetward slo``."""
    group.command("status")(status)
    group.command("explain")(explain)


def status(state_dir: StateDir = None, output: FormatOption = Format.TABLE) -> None:
    """Tell of each objective what is left of its error budget, how fast it burns, and when it would be spent.

    The numbers are those of the controller's last look. The budget is counted over the SLO's whole window;
    what was not observed of it counts as good.
    """
    from controlplane.store.objectives import objectives

    with database(state_dir) as db, db.reading() as tx:
        found = objectives(tx)
    if output is Format.JSON:
        emit_json(found)
        return
    rows = [
        (
            each.name,
            f"{each.target:.6%}".rstrip("0%").rstrip(".") + "%",
            each.window,
            each.state,
            _percent(each.value, 3),
            _percent(each.budget_left, 1),
            _times(each.burn_rate),
            _span(each),
            ", ".join(tier for place in each.places for tier in place.firing),
        )
        for whole in found
        for each in whole.objectives
    ]
    columns = ("SLO", "target", "window", "now", "good", "budget left", "burn 1h", "spent in", "fires")
    emit_table("Objectives", columns, rows, "No objective is watched: no controller has looked yet.")


def explain(
    name: Annotated[str, typer.Argument(help="The SLO's name.")],
    state_dir: StateDir = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Tell what an objective's state rests on: its counts, each tier with its windows, each target.

    A tier fires while both windows burn at least at its factor, on enough events; what is judged is the
    least rate that the events make likely, so that one bad event of a few is no burn.
    """
    from controlplane.store.objectives import objective

    with database(state_dir) as db, db.reading() as tx:
        whole, found = objective(tx, name)
    if output is Format.JSON:
        emit_json(found)
        return
    out.print(f"{found.name}: {found.state}, as of {to_rfc3339(whole.evaluated_at)}", markup=False)
    for line in _budget(found):
        out.print(f"  {line}", markup=False, soft_wrap=True)
    rows = [_tier(each) for each in found.tiers]
    columns = ("tier", "fires at", "long", "short", "events", "says")
    emit_table("Burn rates (least likely)", columns, rows, "No burn-rate tier.")
    targets = [
        (
            each.target,
            each.state,
            _percent(each.value, 2),
            f"{each.samples:g}",
            ", ".join(each.firing),
            each.detail,
        )
        for each in found.places
    ]
    emit_table("Targets", ("target", "now", "good", "events", "fires", "note"), targets, "No target.")


def _budget(found: ObjectiveStatus) -> list[str]:
    what = {"occurrences": "events", "timeslices": "slices of time", "ratioTimeslices": "slices' shares"}
    bad = f"{found.total:g} {what[found.counts]}, {found.total - found.good:g} bad"
    since = f"{found.indicator}, {found.window} since {to_rfc3339(found.window_start)}"
    lines = [f"{since}: {bad}; {found.observed:.1%} observed"]
    if found.budget_left is None:
        lines.append(f"budget: not known, fewer than {found.min_events:g} {what[found.counts]} were counted")
    else:
        spent = f"spent in {_span(found)}" if _span(found) else "not spent within the window at this rate"
        lines.append(
            f"budget: {_percent(found.budget_left, 2)} left, burning {_times(found.burn_rate)}: {spent}"
        )
    return lines


def _tier(tier: TierStatus) -> tuple[str, ...]:
    windows = [
        f"{format_duration(window)}: {_times(seen)} ({least:.3g})"
        for window, seen, least in (
            (tier.long, tier.burn_long, tier.least_long),
            (tier.short, tier.burn_short, tier.least_short),
        )
    ]
    return (tier.name, f"{tier.factor:g}", *windows, f"{tier.events:g}", tier.says)


def _span(found: ObjectiveStatus) -> str:
    seconds = found.time_to_exhaustion
    if seconds is None:
        return ""
    unit = 60.0 if seconds < 86400 else 3600.0
    return format_duration(round(seconds / unit) * unit) if seconds > 0 else "spent"


def _percent(value: float | None, digits: int) -> str:
    return "?" if value is None else f"{value:.{digits}%}"


def _times(value: float | None) -> str:
    return "?" if value is None else f"{value:.3g}"
