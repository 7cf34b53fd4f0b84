"""A backtest's report for people: what fired and what would have been done, near misses, what was seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from controlplane.cli.output import emit_table, out
from controlplane.kernel.durations import format_duration

if TYPE_CHECKING:
    from controlplane.backtest.report import Answer, Fired, Report, Seen
    from controlplane.model.preview import PlannedStep

_OUTCOMES = {
    "run": "would have been started",
    "observed": "called for, and only watched",
    "queued": "called for, and kept waiting",
    "refused": "called for, and refused",
    "notMatched": "not for this case",
}


def show(report: Report) -> None:
    """Write the whole report."""
    out.print(f"{_time(report.since)} to {_time(report.until)}, from {report.prometheus}", markup=False)
    for seen in report.services:
        out.print(f"  {_seen(seen)}", markup=False, soft_wrap=True)
    out.print(_sum(report), style="bold", markup=False)
    for incident in report.incidents:
        _incident(incident)
    for answer in report.scheduled:
        _line(f"\n{_time(answer.at)}  {answer.trigger}", "bold")
        _answer(answer)
    rows = [
        (_time(each.at), each.signal, each.way, f"{each.reached:.0%}", each.why) for each in report.nearly
    ]
    if rows:
        out.print("")
        emit_table("Nearly fired", ("nearest", "signal", "by", "reached", "why not"), rows, "")
    dark = [
        (_time(gap.since), _span(gap.since, gap.until), seen.service, gap.source, gap.detail)
        for seen in report.services
        for gap in seen.dark
    ]
    if dark:
        out.print("")
        emit_table("Without sight", ("from", "for", "service", "source", "why"), dark, "")
    out.print("")
    for note in report.notes:
        out.print(f"Note: {note}", style="dim", markup=False)


def _seen(seen: Seen) -> str:
    weights = "" if seen.weights == "recorded" else ", weights assumed"
    return (
        f"{seen.service}: {seen.ticks} looks each {format_duration(seen.tick)} (scraped every "
        f"{format_duration(seen.interval)}), {seen.observed:.1%} with sight, "
        f"{seen.replicas} replicas{weights}"
    )


def _sum(report: Report) -> str:
    outcomes = Counter(answer.outcome for each in report.incidents for answer in each.answers)
    outcomes.update(answer.outcome for answer in report.scheduled)
    count = len(report.incidents)
    fired = "nothing fired" if not count else f"{count} incident{'s' if count > 1 else ''} fired"
    return f"{fired}; {outcomes['run']} runs would have been started, {outcomes['refused']} refused"


def _incident(incident: Fired) -> None:
    lasted = "open at the end"
    if incident.resolved_at is not None:
        lasted = f"for {_span(incident.opened_at, incident.resolved_at)}"
    part = f", part of {incident.part_of}" if incident.part_of else ""
    _line(f"\n{_time(incident.fired_at)}  {incident.title}, {lasted}{part}", "bold")
    worst = "" if incident.worst is None else f", at its worst {incident.worst:.4g}"
    _line(f"  {incident.target} ({incident.severity}, {incident.tier}){worst}")
    for move in incident.moves:
        _line(f"  {_time(move.at)}  {move.state}: {move.message}", "dim")
    for answer in incident.answers:
        _answer(answer)


def _answer(answer: Answer) -> None:
    times = f", {answer.times} times" if answer.times > 1 else ""
    _line(f"  {_time(answer.at)}  {answer.playbook} on {answer.target}: {_OUTCOMES[answer.outcome]}{times}")
    if answer.outcome != "run":
        _line(f"      {answer.why}")
    for step in answer.plan:
        _line(f"      {step.id}: {', '.join(_step(step))}")
    if answer.plan_missing:
        _line(f"      no plan: {answer.plan_missing}")


def _step(step: PlannedStep) -> Iterator[str]:
    yield step.uses
    if step.outlook != "runs":
        yield f"{step.outlook} ({step.why})" if step.why else step.outlook
    for change in step.changes:
        yield f"{change.field} of {change.target} {change.before} -> {change.after}"


def _line(text: str, style: str = "") -> None:
    out.print(text, style=style, markup=False, soft_wrap=True)


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"


def _span(since: datetime, until: datetime) -> str:
    return format_duration(round((until - since).total_seconds()))
