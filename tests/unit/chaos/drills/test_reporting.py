"""The result has exactly its names; page and JUnit say what the report says."""

from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

from chaos.drills import reporting
from chaos.drills.result import result_of
from controlplane.model.report import (
    DrillReport,
    DrillVerdict,
    FaultReport,
    ProbeReport,
    TokensKept,
    YieldPoint,
)

AT = datetime(2026, 1, 1, 12, tzinfo=UTC)


def report(**fields: object) -> DrillReport:
    body: dict[str, object] = {
        "run": "run-1", "drill": "gray-zone", "service": "chat", "environment": "lab", "purpose": "prove it",
        "verdict": DrillVerdict.PASSED, "hypothesis": "clients are served",
        "reasons": ("mitigated 8 s after",),
        "started_at": AT, "ended_at": AT + timedelta(seconds=160), "injected_at": AT + timedelta(seconds=20),
        "detected_at": AT + timedelta(seconds=22), "mitigated_at": AT + timedelta(seconds=28.25),
        "recovered_at": None, "recovery_within": 30.0,
        "tokens": TokensKept(kept=0.91234, effective=9123.4, expected=10000.0),
        "faults": (
            FaultReport(id="f", name="gray", kind="zone.gray", targets=("zone-b",), injected_at=AT),
        ),
        "probes": (
            ProbeReport(name="served", phase="after", good=True, tolerance="at least 95%", worst=1.0),
            ProbeReport(name="first", phase="during", good=False, tolerance="within 10 s", worst=12.0),
            ProbeReport(name="up", phase="before", good=None, tolerance="between 1 and 2"),
        ),
        "yield_": tuple(
            YieldPoint(at=AT + timedelta(seconds=second), effective_share=None if second == 40 else 0.9)
            for second in range(100)
        ),
    }  # fmt: skip
    return DrillReport(**{**body, **fields})


def test_the_result_has_exactly_its_names_and_units() -> None:
    assert result_of(report()) == {
        "drill": "gray-zone",
        "verdict": "passed",
        "playbook": None,
        "injectedAt": "2026-01-01T12:00:20.000Z",
        "detectedAt": "2026-01-01T12:00:22.000Z",
        "mitigatedAt": "2026-01-01T12:00:28.250Z",
        "recoveredAt": None,
        "timeToDetect": 2.0,
        "timeToMitigate": 8.25,
        "timeToRecover": None,
        "effectiveTokensKept": 0.9123,
        "baseline": "planned",
        "leftovers": [],
        "reasons": ["mitigated 8 s after"],
    }


def test_the_page_needs_nothing_but_itself_and_escapes_what_it_is_given() -> None:
    page = reporting.html(report(purpose="<script>alert(1)</script>"))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "http://" not in page
    assert "https://" not in page


def test_the_picture_breaks_where_nothing_was_measured() -> None:
    assert reporting.html(report()).count("<polyline") == 2


def test_a_drill_that_injected_nothing_has_a_page_without_a_picture() -> None:
    page = reporting.html(
        report(
            verdict=DrillVerdict.ABORTED, injected_at=None, mitigated_at=None, faults=(), yield_=(), probes=()
        )
    )
    assert "<polyline" not in page
    assert "Nothing was injected." in page


def test_junit_counts_what_failed_and_what_could_not_be_told() -> None:
    suite = ET.fromstring(reporting.junit(report()))
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "5", "failures": "1", "errors": "0", "skipped": "1"}


def test_junit_of_a_failed_drill_with_leftovers_says_both() -> None:
    suite = ET.fromstring(
        reporting.junit(report(verdict=DrillVerdict.FAILED, leftovers=("a fault",), probes=()))
    )
    assert suite.get("failures") == "2"


def test_an_aborted_drill_is_an_error_not_a_failure() -> None:
    suite = ET.fromstring(reporting.junit(report(verdict=DrillVerdict.ABORTED, probes=())))
    assert (suite.get("failures"), suite.get("errors")) == ("0", "1")
