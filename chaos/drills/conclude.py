"""``drill.report``: everything that is known of a drill, judged, written down, and rendered.

Made from rows and the clients' record alone, so anybody can make it, also of a run that was cut
short. It waits until the arrivals of two minutes have come and their answers have ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import ClassVar

import structlog

from chaos.drills import reporting
from chaos.drills.case import Case, Exercised, Judged, Observed, Ready, Restored, Reverted, case_of, load_case
from chaos.drills.ports import DrillPorts
from chaos.drills.preconditions import EVERY, NoParameters
from chaos.drills.result import result_of
from chaos.drills.rows import detection, exercise_report, fault_reports, leftovers, not_yet_run
from chaos.drills.truth import Truth
from chaos.drills.verdict import KEPT_WINDOW, Course, Judgement, Kept, judge, tokens_kept
from chaos.drills.watch import Values, all_probes
from controlplane.kernel.clock import from_unix
from controlplane.kernel.errors import FleetwardError, Unavailable
from controlplane.model.action import Action, ActionContext
from controlplane.model.base import Model
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.report import (
    DrillReport,
    DrillVerdict,
    Phase,
    ProbeReport,
    StoredReport,
    TokensKept,
    YieldPoint,
    report_name,
)
from controlplane.model.states import RunState
from controlplane.store.database import Database

log = structlog.get_logger(__name__)

ANSWERS = 30.0
"""Seconds that the report waits for the answers to the last arrivals it counts."""
LEAD_IN, LEAD_OUT = 20.0, 10.0
"""Seconds before the injection and after the recovery that the picture shows."""


class Report(Action[NoParameters]):
    """Judges the drill, and stores its result and report. Any verdict but passed fails the run."""

    name: ClassVar[str] = "drill.report"
    parameters: ClassVar[type[Model]] = NoParameters
    outputs: ClassVar[dict[str, str]] = {"verdict": "passed; any other verdict fails this step"}

    def run(self, parameters: NoParameters, context: ActionContext) -> Outcome:
        case = case_of(context)
        waited = (context.clock.now() - context.started_at).total_seconds()
        try:
            truth = case.truth()
        except Unavailable as error:
            if waited < ANSWERS:
                return Again(EVERY, reason=str(error))
            truth = Truth((), now=context.clock.now().timestamp())
        injected_at = case.injected_at
        if injected_at is not None:
            counted = truth.share(injected_at, injected_at + KEPT_WINDOW)
            complete = truth.now >= injected_at + KEPT_WINDOW
            late = truth.now >= injected_at + KEPT_WINDOW + ANSWERS
            if truth.requests and not late and (not complete or counted.open):
                return Again(EVERY, reason="waits for two minutes of arrivals and their answers")
        report = conclude(case, truth, ended_at=context.clock.now())
        if report.verdict is DrillVerdict.PASSED:
            return Done({"verdict": report.verdict.value})
        message = f"{report.verdict}: {'; '.join(report.reasons)}"
        return Failed(FailureKind.PERMANENT, message, {"verdict": report.verdict.value})


def conclude(case: Case, truth: Truth, *, ended_at: datetime, aborted: str | None = None) -> DrillReport:
    """Judge the drill as the rows and the truth tell it, store what comes of it, and return the report."""
    course = course_of(case, truth, aborted)
    reports = all_probes(case, truth, course, _values(case)) if case.injected_at is not None else []
    broken = [_broken(one) for one in reports if one.good is False]
    course = replace(course, broken=(*_unfinished(case), *_absent(case), *broken))
    report = _report(case, truth, course, reports, ended_at)
    stored = StoredReport(report=report, html=reporting.html(report), junit=reporting.junit(report))
    reporting.save(case.ports.reports, stored, result_of(report))
    with case.database.transaction() as tx:
        tx.snapshots.put(
            report_name(case.run.id), stored.model_dump(mode="json", by_alias=True), service=case.service.name
        )
        tx.runs.merge_result(case.run.id, **result_of(report))
    return report


def conclude_cut_short(database: Database, ports: DrillPorts, run_id: str) -> None:
    """Write the report of a run that ends before its last step: aborted. A report that exists is kept."""
    case = load_case(database, ports, run_id)
    if case.run.result.get("verdict"):
        return
    now = database.now()
    try:
        truth = case.truth(None if case.ready else now.timestamp())
    except Unavailable:
        truth = Truth((), now=now.timestamp())
    why = case.run.stop_reason or case.run.reason or "the run did not come to its end"
    try:
        conclude(case, truth, ended_at=now, aborted=why)
    except (FleetwardError, OSError) as error:
        log.warning("no report of a drill that was cut short", run=run_id, error=str(error))


def course_of(case: Case, truth: Truth, aborted: str | None = None) -> Course:
    """Return how the drill went, from the rows."""
    spec = case.drill.spec
    ready = case.ready or Ready(met=False)
    observed, judged = case.found("observe", Observed), case.found("judge", Judged)
    restored, reverted = case.found("restored", Restored), case.found("revert", Reverted)
    refused = "; ".join(ready.reasons) if ready.verdict == DrillVerdict.ABORTED else None
    exercised = case.found("exercise", Exercised)
    unstarted = exercised.reason or None if exercised else None
    return Course(
        aim=case.aim,
        within=spec.recovery.within,
        restored_within=spec.recovery.restored_within,
        steady_from=ready.steady_from,
        armed_at=case.armed_at or truth.now,
        tiers=spec.recovery.tiers,
        injected_at=case.injected_at,
        judged_at=judged.judged_at if judged else reverted.cleared_at if reverted else None,
        restored_from=restored.restored_from if restored else None,
        ended_at=restored.ended_at if restored else None,
        zone_shares=ready.zone_shares,
        unready=ready.reasons,
        leftovers=leftovers(case),
        aborted=aborted or (observed.aborted if observed else None) or refused or unstarted,
    )


def _report(
    case: Case, truth: Truth, course: Course, reports: list[ProbeReport], ended_at: datetime
) -> DrillReport:
    spec = case.drill.spec
    judgement = _told(case, judge(truth, course))
    found = detection(case)
    return DrillReport(
        run=case.run.id,
        drill=case.drill.name,
        purpose=spec.purpose,
        service=case.service.name,
        environment=spec.environment,
        verdict=judgement.verdict,
        reasons=judgement.reasons,
        hypothesis=spec.hypothesis.title,
        started_at=case.run.started_at or case.run.created_at,
        ended_at=ended_at,
        injected_at=_moment(course.injected_at),
        detected_at=found.detected_at,
        mitigated_at=_moment(judgement.mitigated_at),
        recovered_at=_moment(judgement.recovered_at),
        recovery_within=spec.recovery.within,
        recovery_tiers=spec.recovery.tiers,
        playbook_expected=_expected(case),
        playbook=found.playbook,
        playbook_run=found.playbook_run,
        tokens=_tokens(_kept(case, truth, course)),
        refused=_refused(truth, course),
        probes=tuple(reports),
        faults=fault_reports(case),
        exercise=exercise_report(case),
        deviations=_deviations(case, course, found.playbook),
        leftovers=course.leftovers,
        yield_=_yield(truth, course, judgement),
    )


def _kept(case: Case, truth: Truth, course: Course) -> Kept | None:
    if course.injected_at is None or truth.now < course.injected_at + KEPT_WINDOW:
        return None
    try:
        planned = case.ports.evidence.planned_tokens(course.injected_at, course.injected_at + KEPT_WINDOW)
    except Unavailable:
        planned = None
    return tokens_kept(truth, course, planned=planned)


def _tokens(kept: Kept | None) -> TokensKept:
    if kept is None:
        return TokensKept(kept=None)
    baseline = "sameSeedRun" if kept.baseline == "sameSeed" else "plannedArrivals"
    return TokensKept.model_validate(
        {
            "kept": kept.ratio,
            "effective": kept.effective,
            "expected": kept.expected,
            "within": KEPT_WINDOW,
            "baseline": baseline,
        }
    )


def _refused(truth: Truth, course: Course) -> dict[str, int]:
    """Count who was turned away from the injection to the end of the drill."""
    if course.injected_at is None:
        return {}
    end = truth.now if course.ended_at is None else course.ended_at
    return {
        tier or "no tier": count for tier, count in sorted(truth.refused(course.injected_at, end).items())
    }


def _values(case: Case) -> Mapping[Phase, Values]:
    observed, restored = case.found("observe", Observed), case.found("restored", Restored)
    return {
        "before": case.ready.values if case.ready else {},
        "during": observed.values if observed else {},
        "after": restored.values if restored else {},
    }


def _broken(report: ProbeReport) -> str:
    worst = "unknown" if report.worst is None else f"{report.worst:.3g}"
    tail = f", {report.detail}" if report.detail else ""
    return f"{report.name} ({report.phase}): {worst} was measured, {report.tolerance} was demanded{tail}"


def _expected(case: Case) -> str | None:
    spec = case.drill.spec
    return spec.recovery.playbook if spec.exercise is None else spec.exercise.playbook


def _unfinished(case: Case) -> list[str]:
    run = case.exercise
    if run is None or run.state is RunState.SUCCEEDED:
        return []
    return [f"{run.name} ({run.id}) did not succeed: {run.state}: {run.reason}"]


def _absent(case: Case) -> list[str]:
    wanted = case.drill.spec.recovery
    if case.injected_at is None:
        return []
    found = [f"playbook `{name}` had to run to its end, and did not" for name in not_yet_run(case)]
    if wanted.required and detection(case).playbook != wanted.playbook:
        found.insert(0, f"playbook `{wanted.playbook}` had to fire, and did not")
    return found


def _told(case: Case, judgement: Judgement) -> Judgement:
    """Return the judgement of an exercise in its own words: nothing was mitigated, nobody noticed."""
    run = case.exercise
    if run is None or run.ended_at is None or judgement.verdict is not DrillVerdict.PASSED:
        return judgement
    took = (run.ended_at - run.created_at).total_seconds()
    return replace(judgement, reasons=(f"{run.name} succeeded after {took:.0f} s, and no client noticed",))


def _deviations(case: Case, course: Course, playbook: str | None) -> tuple[str, ...]:
    expected = _expected(case)
    told = playbook == expected or case.drill.spec.recovery.required
    if expected is None or course.injected_at is None or told:
        return course.broken
    return (*course.broken, f"playbook `{expected}` was expected to fire, {playbook or 'none'} did")


def _yield(truth: Truth, course: Course, judgement: Judgement) -> tuple[YieldPoint, ...]:
    """Return the picture's points, one per second of planned arrival."""
    if course.injected_at is None or not truth.requests:
        return ()
    last = course.ended_at or judgement.recovered_at or truth.now
    end = min(truth.now, max(last + LEAD_OUT, course.injected_at + KEPT_WINDOW))
    points = []
    for step in range(int(end - course.injected_at + LEAD_IN)):
        at = course.injected_at - LEAD_IN + step
        tokens = truth.tokens(at, at + 1)
        share = truth.share(at, at + 1).settled
        points.append(
            YieldPoint(
                at=from_unix(at),
                effective_share=share,
                effective_tokens=tokens.effective,
                planned_tokens=tokens.planned,
            )
        )
    return tuple(points)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else from_unix(seconds)
