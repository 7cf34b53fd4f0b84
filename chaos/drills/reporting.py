"""The report of a drill as a page, as JUnit, and on disk.

The page needs nothing but itself: styles and picture are inside, it follows the reader's light or
dark mode and prints. All text is escaped. Times are shown in UTC.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from jinja2 import Environment, PackageLoader, StrictUndefined

from chaos.drills.picture import timeline
from controlplane.model.report import DrillReport, DrillVerdict, StoredReport


def html(report: DrillReport) -> str:
    """Render the report as one self-contained page."""
    template = _environment().get_template("report.html.j2")
    return template.render(report=report, milestones=_milestones(report), picture=timeline(report))


def junit(report: DrillReport) -> str:
    """Render the report as a JUnit test suite: the verdict, each probe, and that nothing is left."""
    suite = ET.Element("testsuite", name=f"drill {report.drill}", timestamp=report.started_at.isoformat())
    seconds = (report.ended_at - report.started_at).total_seconds()
    suite.set("time", f"{seconds:.3f}")
    verdict = _case(suite, report, "verdict")
    if report.verdict is DrillVerdict.FAILED:
        _say(verdict, "failure", "; ".join(report.reasons))
    elif report.verdict is not DrillVerdict.PASSED:
        _say(verdict, "error", f"{report.verdict}: {'; '.join(report.reasons)}")
    for probe in report.probes:
        entry = _case(suite, report, f"{probe.name} ({probe.phase})")
        if probe.good is False:
            _say(entry, "failure", f"{probe.worst} was measured, {probe.tolerance} was demanded")
        elif probe.good is None:
            ET.SubElement(entry, "skipped", message=probe.detail or "it could not be told")
    entry = _case(suite, report, "nothing is left standing")
    if report.leftovers:
        _say(entry, "failure", "; ".join(report.leftovers))
    for kind in ("failure", "error", "skipped"):
        name = "failures" if kind == "failure" else "errors" if kind == "error" else kind
        suite.set(name, str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("tests", str(len(suite.findall("testcase"))))
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def save(folder: Path, stored: StoredReport, result: Mapping[str, Any]) -> Path:
    """Write ``<run>.json`` (the result), ``.report.json``, ``.html`` and ``.xml``; return the page's path."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    run = stored.report.run
    texts = {
        f"{run}.json": json.dumps(result, indent=2) + "\n",
        f"{run}.report.json": stored.report.model_dump_json(by_alias=True, indent=2) + "\n",
        f"{run}.xml": stored.junit,
        f"{run}.html": stored.html,
    }
    for name, text in texts.items():
        draft = folder / f".{name}.new"
        draft.write_text(text, encoding="utf-8")
        draft.replace(folder / name)
    return folder / f"{run}.html"


def _milestones(report: DrillReport) -> list[tuple[str, datetime | None, float | None, str]]:
    """Return (name, time, seconds from the begin, what was demanded) of the drill's moments."""
    within = f"within {report.recovery_within:g} s" if report.recovery_within is not None else ""
    whose = f" for {', '.join(report.recovery_tiers)}" if report.recovery_tiers else ""
    if report.exercise is not None:
        begun: list[tuple[str, datetime | None, str]] = [
            ("Begun", report.injected_at, "the playbook was started"),
            ("Served", report.mitigated_at, f"{within}: the first 10 s at 0.95"),
            ("Ended", report.exercise.ended_at, f"its run {report.exercise.state}"),
        ]
    else:
        begun = [
            ("Injected", report.injected_at, "put in force; its effect was then seen at the target"),
            ("Detected", report.detected_at, "first incident on the target; reported, never enough"),
            (
                "Mitigated",
                report.mitigated_at,
                f"{within}: 10 s without new requests to the target at 0.95{whose}",
            ),
        ]
    last = ("Recovered", report.recovered_at, "10 s at 0.95 for everybody, with the original weights")
    moments = [*begun, last]
    start = report.injected_at
    return [
        (name, at, (at - start).total_seconds() if at is not None and start is not None else None, why)
        for name, at, why in moments
    ]


def _case(suite: ET.Element, report: DrillReport, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=f"drill.{report.drill}", name=name)


def _say(entry: ET.Element, tag: str, message: str) -> None:
    found = ET.SubElement(entry, tag, message=message)
    found.text = message


@lru_cache(maxsize=1)
def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("chaos.drills"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    found.filters["clock"] = lambda moment: "–" if moment is None else moment.strftime("%H:%M:%S.%f")[:-5]
    found.filters["date"] = lambda moment: moment.strftime("%Y-%m-%d %H:%M:%S UTC")
    found.filters["seconds"] = lambda value: "–" if value is None else f"{value:+.1f} s"
    found.filters["number"] = lambda value: "–" if value is None else f"{value:,.3g}"
    found.filters["percent"] = lambda value: "–" if value is None else f"{value:.1%}"
    return found
