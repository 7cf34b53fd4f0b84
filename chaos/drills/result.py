"""What a drill found out, in the one form that programs read: ``run.result``, the demo, a pipeline.

Exactly these names. Times are RFC 3339 or null, durations seconds from the injection or null;
``leftovers`` must be empty. It is derived from the report, which holds more for people.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from controlplane.kernel.clock import to_rfc3339
from controlplane.model.report import DrillReport

BASELINES = {"plannedArrivals": "planned", "sameSeedRun": "sameSeed"}


def result_of(report: DrillReport) -> dict[str, Any]:
    """Return the result of a drill as JSON."""
    injected = report.injected_at
    return {
        "drill": report.drill,
        "verdict": report.verdict.value,
        "playbook": report.playbook,
        "injectedAt": _time(injected),
        "detectedAt": _time(report.detected_at),
        "mitigatedAt": _time(report.mitigated_at),
        "recoveredAt": _time(report.recovered_at),
        "timeToDetect": _seconds(injected, report.detected_at),
        "timeToMitigate": _seconds(injected, report.mitigated_at),
        "timeToRecover": _seconds(injected, report.recovered_at),
        "effectiveTokensKept": None if report.tokens.kept is None else round(report.tokens.kept, 4),
        "baseline": BASELINES[report.tokens.baseline],
        "leftovers": list(report.leftovers),
        "reasons": list(report.reasons),
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else to_rfc3339(moment)


def _seconds(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else round((end - start).total_seconds(), 3)
