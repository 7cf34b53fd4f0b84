"""What a rehearsal says: a result per case, as values, as JSON and as JUnit's XML."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from multiprocessing import get_all_start_methods, get_context
from typing import Any
from xml.etree import ElementTree as ET  # only written, never read

from controlplane.kernel.clock import SystemClock
from controlplane.kernel.errors import FleetwardError
from controlplane.model.action import ActionRegistry
from controlplane.model.rehearsal import CaseResult
from controlplane.rehearsal.compare import difference, explanation
from controlplane.rehearsal.runner import Stage
from controlplane.rehearsal.suite import Suite

FEW = 16
"""So many cases are played before another process would have begun to."""

_CLOCK = SystemClock()
"""Only to say how long a case took; within a case time is virtual."""


Places = Sequence[tuple[Suite, int]]
"""Cases by their suite and their number in it."""


def rehearse(
    suites: Iterable[Suite], actions: ActionRegistry, only: str = "", hands: int | None = None
) -> list[CaseResult]:
    """Play every case whose playbook and name contain ``only``, and return the results in order.

    Each case stands alone, so many of them share the cores; a process that must not fork says ``hands=1``.
    """
    places = [
        (suite, index)
        for suite in suites
        for index, case in enumerate(suite.test.spec.cases)
        if only.lower() in f"{suite.playbook.name} {case.name}".lower()
    ]
    hands = min(_cores() if hands is None else hands, len(places) // FEW)
    if hands > 1:
        with get_context("fork").Pool(hands, _begin, (actions, places)) as pool:
            return pool.map(_play, range(len(places)), chunksize=1 + FEW // 8)
    stage = Stage(actions)
    try:
        return [_result(stage, suite, index) for suite, index in places]
    finally:
        stage.close()


def _cores() -> int:
    """Return how many processes may play at once; one where they cannot be forked."""
    return len(os.sched_getaffinity(0)) if "fork" in get_all_start_methods() else 1


_playing: tuple[Stage, Places]
"""Of a forked process: its own stage, and what it may be asked to play."""


def _begin(actions: ActionRegistry, places: Places) -> None:
    global _playing  # noqa: PLW0603 - what a pool's process knows it knows as a global
    _playing = Stage(actions), places


def _play(number: int) -> CaseResult:
    stage, places = _playing
    return _result(stage, *places[number])


def _result(stage: Stage, suite: Suite, index: int) -> CaseResult:
    case = suite.test.spec.cases[index]
    began = _CLOCK.monotonic()
    place: dict[str, Any] = {
        "file": suite.file,
        "line": suite.lines[index],
        "playbook": suite.playbook.name,
        "name": case.name,
    }
    try:
        ending = stage.play(suite, case)
    except FleetwardError as error:
        return CaseResult(**place, error=str(error), seconds=_CLOCK.monotonic() - began)
    lines = tuple(f"{mark} {text}" for mark, text in difference(case.expect, ending))
    return CaseResult(
        **place,
        difference=lines,
        why=explanation(ending) if lines else "",
        virtual_seconds=ending.seconds,
        seconds=_CLOCK.monotonic() - began,
    )


def junit(results: Sequence[CaseResult]) -> str:
    """Return the results as JUnit's XML: a suite per playbook and file."""
    root = ET.Element("testsuites", name="fleetward playbook test")
    groups: dict[tuple[str, str], list[CaseResult]] = {}
    for result in results:
        groups.setdefault((result.file, result.playbook), []).append(result)
    for (file, playbook), cases in groups.items():
        suite = ET.SubElement(
            root,
            "testsuite",
            name=playbook,
            file=file,
            tests=str(len(cases)),
            failures=str(sum(bool(case.difference) for case in cases)),
            errors=str(sum(bool(case.error) for case in cases)),
            time=f"{sum(case.seconds for case in cases):.3f}",
        )
        for case in cases:
            element = ET.SubElement(
                suite,
                "testcase",
                classname=playbook,
                name=case.name,
                file=case.file,
                line=str(case.line),
                time=f"{case.seconds:.3f}",
            )
            if case.error:
                ET.SubElement(element, "error", message=case.error)
            elif case.difference:
                failure = ET.SubElement(element, "failure", message=case.why)
                failure.text = "\n".join(case.difference)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
